import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { after, beforeEach, describe, test } from "node:test";
import { PeerServer } from "../server/peer-server.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { tenantOf } from "../tenant/tenant-forge.ts";
import type { AuditLine } from "./audit.ts";
import { ExternalNames } from "./external-names.ts";
import { KubeProxy } from "./kube-proxy.ts";
import { objectPolicy, TenantObjects } from "./tenant-objects.ts";
import { TestTenants } from "./test-tenants.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Stands for the API server, and does to requests what the test says. */
let onRequest: Handler = () => {};
let onUpgrade: (request: IncomingMessage, socket: Duplex) => void = (_, socket) => socket.destroy();
const api: Server = createServer((incoming, response) => onRequest(incoming, response));
api.on("upgrade", (incoming, socket) => onUpgrade(incoming, socket));
api.listen(0, "127.0.0.1");
await once(api, "listening");

const [provider, consumer, neighbour] = await Promise.all([testSite(), testSite(), testSite()]);
const tenants = new TestTenants();
const nothing = async () => new Map<string, number>();
const nothingStored = { twins: nothing, twinNamespaces: nothing, claims: nothing, exposedServices: nothing };
let expected = false;
let budgetsHold = true;
let knowsAddresses = true;
let onLine: (line: AuditLine) => void = () => {};
const proxy = new KubeProxy({
  ...means,
  config: { server: `http://127.0.0.1:${(api.address() as AddressInfo).port}`, namespace: "default", tls: {} },
  tenants,
  isTwinOf: (_, namespace) => namespace === "shop",
  isExpected: () => expected,
  budgetsHold: () => budgetsHold,
  addresses: {
    isKnown: () => knowsAddresses,
    endpointProblem: (_, addresses) => addresses.find((each) => each.startsWith("10.42.")),
  },
  externalNames: new ExternalNames({ isTwinOf: () => false, hasNamespace: (name) => name === "other" }),
  objects: new TenantObjects({ ...means, policy: () => objectPolicy(undefined), stored: nothingStored }),
  audit: (line) => onLine(line),
});
const server = new PeerServer({
  ...means,
  tls: provider.tls,
  siteOf: (id) => siteObject(id),
  routes: [],
  rawRoutes: [proxy],
  host: "127.0.0.1",
  port: 0,
});
const endpoint = `https://127.0.0.1:${(await server.listen())?.port}`;
const stop = new AbortController();
const running = server.run(stop.signal);
beforeEach(() => tenants.set(consumer.id, true));
after(async () => {
  stop.abort();
  proxy.close();
  api.closeAllConnections();
  api.close();
  await running;
});

const PODS = "/kube/api/v1/namespaces/shop/pods";
const MAPS = "/kube/api/v1/namespaces/shop/configmaps";

interface Asked {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  by?: typeof consumer;
  /** The test goes on to write the body. */
  endless?: boolean;
}

async function ask(path: string, { by = consumer, endless = false, ...options }: Asked = {}) {
  const socket = await by.tls.connect(endpoint, provider.id);
  const { body, ...rest } = options;
  const asked = request({ createConnection: () => socket as Socket, path, ...rest });
  asked.on("error", () => {});
  if (endless) asked.write(body);
  else asked.end(body);
  return { asked, socket, answered: once(asked, "response") as Promise<[IncomingMessage]> };
}

const MERGE = { "content-type": "application/merge-patch+json" };

function making(name: string): Asked {
  const headers = { "content-type": "application/json" };
  return { method: "POST", body: JSON.stringify({ metadata: { name } }), headers };
}

async function statusOf(path: string, options?: Asked): Promise<number | undefined> {
  const { answered, socket } = await ask(path, options);
  const [answer] = await answered;
  await text(answer);
  socket.destroy();
  return answer.statusCode;
}

describe("the proxy", () => {
  test("passes on no slice that leads to the provider's own, nor a Service, and none before that is known", async () => {
    const passed: string[] = [];
    onRequest = (incoming, response) => {
      passed.push(`${incoming.method} ${incoming.url}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    };
    const slice = "/kube/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web";
    const service = "/kube/api/v1/namespaces/shop/services/web";
    const led = (...addresses: string[]) => JSON.stringify({ endpoints: [{ addresses }] });
    const named = (externalName: string) => JSON.stringify({ spec: { externalName } });
    const patch = (path: string, body: string) => statusOf(path, { method: "PATCH", body, headers: MERGE });
    assert.equal(await patch(slice, led("10.50.0.1", "10.42.0.1")), 403);
    assert.equal(await patch(service, named("db.other")), 403);
    assert.deepEqual(passed, []);
    knowsAddresses = false;
    assert.equal(await patch(slice, led("10.50.0.1")), 503);
    assert.equal(await patch(slice, JSON.stringify({ metadata: { labels: { a: "b" } } })), 200);
    knowsAddresses = true;
    assert.equal(await patch(slice, led("10.50.0.1")), 200);
    assert.equal(await patch(service, named("db.example.com")), 200);
    assert.equal(passed.length, 3);
  });

  test("tells a consumer to come again while the agent has yet to learn of its contract", async () => {
    tenants.set(consumer.id, false);
    assert.equal(await statusOf(PODS), 403);
    expected = true;
    const { answered, socket } = await ask(PODS, { headers: { connection: "keep-alive" } });
    const [answer] = await answered;
    // Another agent of the site may know it: a connection that is kept would lead to this one for good.
    assert.deepEqual([answer.statusCode, answer.headers.connection], [503, "close"]);
    await once(socket, "close");
    expected = false;
  });

  test("acts as the tenant, and passes nothing else on of who asks", async () => {
    const seen = Promise.withResolvers<IncomingMessage>();
    onRequest = (incoming, response) => {
      seen.resolve(incoming);
      response.end("{}");
    };
    const headers = { "impersonate-user": "root", authorization: "Bearer x", "x-remote-user": "root", accept: "a/b" };
    assert.equal(await statusOf(`${PODS}?limit=1`, { headers }), 200);
    const { url, headers: sent, rawHeaders } = await seen.promise;
    const { user, namespace } = tenantOf(consumer.id);
    assert.equal(url, "/api/v1/namespaces/shop/pods?limit=1");
    assert.equal(sent["impersonate-user"], user);
    assert.equal(sent.accept, "a/b");
    assert.equal(sent.authorization, undefined);
    assert.equal(sent["x-remote-user"], undefined);
    const groups = rawHeaders.filter((_, i) => rawHeaders[i - 1]?.toLowerCase() === "impersonate-group");
    assert.deepEqual(groups, ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"]);
  });

  test("refuses a body that has no end, and goes on", { timeout: 30_000 }, async () => {
    const line = Promise.withResolvers<AuditLine>();
    onLine = line.resolve;
    const { asked, answered, socket } = await ask(MAPS, {
      method: "POST",
      headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
      body: "[",
      endless: true,
    });
    const pour = () => {
      while (!socket.destroyed && asked.write("x".repeat(64 * 1024)));
    };
    asked.on("drain", pour);
    pour();
    const [answer] = await answered;
    assert.equal(answer.statusCode, 413);
    assert.match(await text(answer), /larger than 3145728 bytes/);
    const { status, verb } = await line.promise;
    assert.deepEqual([status, verb], [413, "create"]);
    socket.destroy();
    onLine = () => {};
    onRequest = (_, response) => void response.end("{}");
    assert.equal(await statusOf(PODS), 200);
  });

  test("has no more lines written of who has no contract than of who has one", async () => {
    const lines: AuditLine[] = [];
    const limits = { burst: 5, requestsPerSecond: 0.001 };
    const strict = new KubeProxy({
      ...means,
      config: { server: "http://127.0.0.1:1", namespace: "default", tls: {} },
      tenants: new TestTenants(),
      isTwinOf: () => false,
      limits,
      audit: (line) => void lines.push(line),
    });
    const guarded = new PeerServer({
      ...means,
      tls: provider.tls,
      siteOf: (id) => siteObject(id),
      routes: [],
      rawRoutes: [strict],
      host: "127.0.0.1",
      port: 0,
    });
    const address = `https://127.0.0.1:${(await guarded.listen())?.port}`;
    const enough = new AbortController();
    const ended = guarded.run(enough.signal);
    const socket = await consumer.tls.connect(address, provider.id);
    socket.write(`GET ${PODS} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(49));
    socket.write(`GET ${PODS} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    enough.abort();
    strict.close();
    await ended;
    assert.deepEqual(statuses, [...Array(5).fill("403"), ...Array(45).fill("429")]);
    assert.equal(lines.length, 6);
  });

  test("holds a watch back as long as nobody reads it", async () => {
    let written = 0;
    const stalled = Promise.withResolvers<void>();
    onRequest = (_, response) => {
      const chunk = "x".repeat(64 * 1024);
      const pour = () => {
        for (;;) {
          written += chunk.length;
          if (!response.write(chunk)) break;
        }
        const timer = setTimeout(stalled.resolve, 500);
        response.once("drain", () => {
          clearTimeout(timer);
          pour();
        });
      };
      pour();
    };
    const { answered, socket } = await ask(`${PODS}?watch=1`);
    const [answer] = await answered;
    answer.pause();
    await stalled.promise;
    assert.ok(written < 32 * 1024 * 1024, `${written} bytes were taken for nobody`);
    socket.destroy();
  });

  test("lets the API server know when the consumer has gone", async () => {
    const gone = Promise.withResolvers<void>();
    onRequest = (_, response) => {
      response.write("one");
      response.on("close", gone.resolve);
    };
    const { answered, socket } = await ask(`${PODS}?watch=1`);
    await answered;
    socket.destroy();
    await gone.promise;
  });

  test("ends a watch when the contract ends, towards both", async () => {
    const gone = Promise.withResolvers<void>();
    onRequest = (_, response) => {
      response.write("one");
      response.on("close", gone.resolve);
    };
    const { answered } = await ask(`${PODS}?watch=1`);
    const [answer] = await answered;
    const cut = assert.rejects(text(answer), /aborted/);
    tenants.set(consumer.id, false);
    await Promise.all([cut, gone.promise]);
    assert.equal(await statusOf(PODS), 403);
  });

  test("ends a watch as the API server does: in order, or cut so that nobody takes it for whole", async () => {
    onRequest = (_, response) => {
      response.write("one");
      setImmediate(() => response.end("two"));
    };
    const [whole] = await (await ask(`${PODS}?watch=1`)).answered;
    assert.equal(await text(whole), "onetwo");
    onRequest = (_, response) => {
      response.write("one");
      setTimeout(() => response.destroy(), 50);
    };
    const [broken] = await (await ask(`${PODS}?watch=1`)).answered;
    await assert.rejects(text(broken), /aborted/);
  });

  test("gives the API server's refusal of a watch as it is, and at once where it says to wait", async () => {
    onRequest = (_, response) => response.writeHead(429, { "retry-after": "1" }).end("later");
    const [answer] = await (await ask(`${PODS}?watch=1`)).answered;
    assert.deepEqual([answer.statusCode, answer.headers["retry-after"], await text(answer)], [429, "1", "later"]);
  });

  test("says that the API server did not answer, and whether a write may have been done", async () => {
    onRequest = (incoming) => incoming.socket.destroy();
    assert.equal(await statusOf(PODS), 503);
    assert.equal(await statusOf(MAPS, making("web")), 504);
  });

  test("lets no consumer wait for another's writes", async () => {
    tenants.set(neighbour.id, true);
    const held = new Set<ServerResponse>();
    const enough = Promise.withResolvers<void>();
    onRequest = (incoming, response) => {
      if (incoming.headers["impersonate-user"] !== tenantOf(consumer.id).user) return void response.end("{}");
      // As many as the pool of one tenant has connections.
      if (held.add(response).size === 64) enough.resolve();
    };
    const slow = Array.from({ length: 70 }, (_, index) => statusOf(MAPS, making(`slow-${index}`)));
    await enough.promise;
    assert.equal(await statusOf(MAPS, { ...making("quick"), by: neighbour }), 200);
    onRequest = (_, response) => void response.end("{}");
    for (const response of held) response.end("{}");
    assert.deepEqual(new Set(await Promise.all(slow)), new Set([200]));
  });

  test("takes no budgets where these hold no longer, and lets them go", async () => {
    onRequest = (_, response) => void response.end("{}");
    const budgets = "/kube/apis/policy/v1/namespaces/shop/poddisruptionbudgets";
    assert.equal(await statusOf(budgets, making("web")), 200);
    budgetsHold = false;
    assert.equal(await statusOf(budgets, making("web")), 403);
    assert.equal(await statusOf(`${budgets}/web`, { ...making("web"), method: "PATCH", headers: MERGE }), 403);
    assert.equal(await statusOf(`${budgets}/web`, { method: "DELETE" }), 200);
    assert.equal(await statusOf(MAPS, making("web")), 200);
    budgetsHold = true;
  });

  test("tells a consumer to wait that writes more than a store can take", async () => {
    const large = "x".repeat(8 * 1024 * 1024);
    onRequest = (_, response) => void response.end(large);
    const replies: (number | undefined)[] = [];
    while (!replies.includes(429) && replies.length < 1_000)
      replies.push(await statusOf(`${MAPS}/web`, { ...making("web"), method: "PATCH", headers: MERGE }));
    // What comes to be of a small patch is what counts: 64 MB at once, and then 2 MB a second.
    assert.ok(replies.length > 8 && replies.at(-1) === 429, replies.join(" "));
    assert.equal(await statusOf(PODS), 200);
    tenants.set(consumer.id, false);
    tenants.set(consumer.id, true);
  });

  test("reads no more of a consumer in vain than leaves time for others", { timeout: 60_000 }, async () => {
    const large = (values: string) => `{"metadata":{"name":"web"},"data":${values}}`;
    // To read it takes a hundred times as long as a text of that length.
    const nested = large("[".repeat(1_400_000) + "]".repeat(1_400_000));
    const nothing = large(`{${Array.from({ length: 200_000 }, (_, index) => `"${index}":null`).join()}}`);
    const patch = (body: string) => statusOf(`${MAPS}/web`, { method: "PATCH", body, headers: MERGE });
    for (const [body, status] of [
      [nested, 400],
      [nothing, 200],
    ] as const) {
      // Of what is sent there comes to be nearly nothing.
      onRequest = (incoming, response) => void incoming.resume().on("end", () => response.end("{}"));
      const replies: (number | undefined)[] = [];
      while (!replies.includes(429) && replies.length < 40) replies.push(await patch(body));
      assert.deepEqual([replies[0], replies.at(-1)], [status, 429], replies.join(" "));
      assert.equal(await statusOf(MAPS, making("small")), 200);
      tenants.set(consumer.id, false);
      tenants.set(consumer.id, true);
    }
    const whole = large(`{"text":"${"x".repeat(1024 * 1024)}"}`);
    onRequest = (incoming, response) => void incoming.pipe(response);
    for (let kept = 0; kept < 40; kept++) assert.equal(await patch(whole), 200);
    tenants.set(consumer.id, false);
    tenants.set(consumer.id, true);
  });

  test("tells the consumer nothing of a credential that the API server did not take", async () => {
    onRequest = (_, response) => void response.writeHead(401, { "www-authenticate": "x" }).end("{}");
    assert.equal(await statusOf(PODS), 503);
  });

  test("joins upgraded connections byte by byte, and ends them with the contract", async () => {
    let far: Duplex | undefined;
    onUpgrade = (incoming, socket) => {
      assert.equal(incoming.headers.upgrade, "SPDY/3.1");
      far = socket;
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\nserver: secret\r\n\r\n",
      );
      socket.on("error", () => {}).pipe(socket);
    };
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
    const { asked } = await ask(`${PODS}/web/exec?command=sh`, { method: "POST", headers });
    const [answer, socket] = (await once(asked, "upgrade")) as [IncomingMessage, Duplex];
    assert.equal(answer.headers.server, undefined);
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    socket.write(bytes);
    assert.deepEqual((await once(socket, "data"))[0], bytes);
    const ended = [once(socket, "close"), once(far as Duplex, "close")];
    tenants.set(consumer.id, false);
    await Promise.all(ended);
  });

  test("gives the API server's refusal of an upgrade as it is", async () => {
    onUpgrade = (_, socket) => {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
    };
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    assert.equal(await statusOf(`${PODS}/web/exec?command=sh`, { headers }), 403);
  });

  test("writes a line of each request when it is over, without what was asked in its query", async () => {
    onRequest = (_, response) => void response.end("{}");
    const lineOf = async (path: string) => {
      const told = Promise.withResolvers<AuditLine>();
      onLine = (line) => line.path === path && told.resolve(line);
      await statusOf(`/kube${path}?labelSelector=secret`);
      const { verb, status, refusedBy, consumer: by } = await told.promise;
      assert.equal(by, consumer.id);
      return [verb, status, refusedBy];
    };
    assert.deepEqual(await lineOf("/api/v1/namespaces/shop/pods"), ["list", 200, undefined]);
    assert.deepEqual(await lineOf("/api/v1/nodes"), ["GET", 403, "proxy"]);
  });
});
