import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, beforeEach, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type ByteStream, type StreamResponse, Transport } from "@fjord/kube";
import { PeerServer } from "../server/peer-server.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { tenantOf } from "../tenant/tenant-forge.ts";
import type { AuditLine } from "./audit.ts";
import { KubeProxy } from "./kube-proxy.ts";
import { TestTenants } from "./test-tenants.ts";

/** Stands for the API server, and does to requests what the test says. */
let onRequest: (request: IncomingMessage, response: ServerResponse) => void = () => {};
/** Watches that have begun and have no line yet. */
let open = 0;
const api = createServer((incoming, response) => onRequest(incoming, response)).listen(0, "127.0.0.1");
await once(api, "listening");

const [provider, consumer] = await Promise.all([testSite(), testSite()]);
const tenants = new TestTenants();
let isExpected = false;
let lines: AuditLine[] = [];
const proxy = new KubeProxy({
  ...means,
  config: { server: `http://127.0.0.1:${(api.address() as AddressInfo).port}`, namespace: "default", tls: {} },
  tenants,
  isTwinOf: (_, namespace) => namespace === "shop",
  isExpected: () => isExpected,
  limits: { streams: 5, burst: 40, requestsPerSecond: 0.001 },
  audit: (line) => {
    lines.push(line);
    if (line.status === 200) open--;
  },
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
const PODS = "/api/v1/namespaces/shop/pods?watch=true";

let sockets: TLSSocket[] = [];
let client: Transport;
beforeEach(async () => {
  await client?.close();
  while (open > 0) await pause();
  // What it has asked so far is forgotten with its contract.
  tenants.set(consumer.id, false);
  tenants.set(consumer.id, true);
  isExpected = false;
  lines = [];
  sockets = [];
  client = new Transport(
    { server: `https://${provider.id}/kube`, namespace: "default", tls: {} },
    {
      shareWatches: true,
      closeGraceMs: 0,
      tooManyRequestsBudgetMs: 0,
      connect: async (signal, protocols) => {
        const socket = await consumer.tls.connect(endpoint, provider.id, { signal, ...(protocols && { protocols }) });
        sockets.push(socket);
        return socket;
      },
    },
  );
  onRequest = (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write("first");
});
after(async () => {
  await client.close();
  stop.abort();
  proxy.close();
  api.closeAllConnections();
  api.close();
  await running;
});

function watch(path = PODS, headers = {}): Promise<StreamResponse> {
  return client.stream({ method: "GET", path, action: "watch", headers });
}

async function begun(path = PODS): Promise<ByteStream> {
  const { stream } = await watch(path);
  open++;
  assert.ok(stream);
  assert.equal(await nextOf(stream), "first");
  return stream;
}

async function nextOf(stream: ByteStream): Promise<string | undefined> {
  const { value } = await stream.next();
  return value?.toString();
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

async function lineOf(count: number): Promise<AuditLine> {
  while (lines.length < count) await pause();
  return lines[count - 1] as AuditLine;
}

describe("watches of the proxy over one connection", () => {
  test("are the tenant's, with nothing else of who asks, and each has its line", async () => {
    const seen: IncomingMessage[] = [];
    onRequest = (incoming, response) => {
      seen.push(incoming);
      response.write("first");
    };
    const headers = { "impersonate-user": "root", authorization: "Bearer x", "x-remote-user": "root", accept: "a/b" };
    const { stream: one } = await watch(PODS, headers);
    open++;
    const two = await begun();
    assert.deepEqual(
      sockets.map(({ alpnProtocol }) => alpnProtocol),
      ["h2"],
    );
    const [{ url, headers: sent } = assert.fail()] = seen;
    assert.equal(url, PODS);
    assert.deepEqual(
      [sent["impersonate-user"], sent.accept, sent.authorization, sent["x-remote-user"]],
      [tenantOf(consumer.id).user, "a/b", undefined, undefined],
    );
    assert.deepEqual(
      Object.keys(sent).filter((name) => name.startsWith(":")),
      [],
    );
    await one?.return();
    const { verb, status, bytesOut, path } = await lineOf(1);
    assert.deepEqual([verb, status, bytesOut, path], ["watch", 200, 5, "/api/v1/namespaces/shop/pods"]);
    assert.equal(lines.length, 1);
    await two.return();
    await lineOf(2);
  });

  test("end when the contract ends, towards both, and no new one begins", async () => {
    const gone: Promise<unknown>[] = [];
    onRequest = (_, response) => {
      response.write("first");
      gone.push(once(response, "close"));
    };
    const streams = [await begun(), await begun(), await begun()];
    const cut = streams.map((stream) => assert.rejects(nextOf(stream)));
    tenants.set(consumer.id, false);
    await Promise.all([...cut, ...gone]);
    assert.equal((await watch()).statusCode, 403);
    assert.deepEqual(
      sockets.map(({ alpnProtocol }) => alpnProtocol).filter((each) => each !== "h2"),
      [],
    );
  });

  test("end as the API server ends them: in order, or cut so that nobody takes them for whole", async () => {
    onRequest = (_, response) => {
      response.write("first");
      setTimeout(() => response.end("last"), 20);
    };
    const whole = await begun();
    assert.equal(await nextOf(whole), "last");
    assert.equal(await nextOf(whole), undefined);
    onRequest = (_, response) => {
      response.write("first");
      setTimeout(() => response.destroy(), 20);
    };
    const beside = await begun();
    await assert.rejects(nextOf(beside));
  });

  test("let the API server know when the consumer wants one no more, and the others go on", async () => {
    const responses: ServerResponse[] = [];
    onRequest = (_, response) => {
      responses.push(response);
      response.write("first");
    };
    const [one, two] = [await begun(), await begun()];
    const gone = once(responses[0] as ServerResponse, "close");
    await one.return();
    await gone;
    responses[1]?.write("second");
    assert.equal(await nextOf(two), "second");
  });

  test("are refused as others are: what is not the consumer's, and as the API server says", async () => {
    assert.equal((await watch("/api/v1/namespaces/bank/pods?watch=true")).statusCode, 403);
    assert.equal((await watch("/api/v1/nodes?watch=true")).statusCode, 403);
    assert.equal((await watch("/api/v1/namespaces/shop/../bank/pods?watch=true")).statusCode, 400);
    assert.equal((await watch("/api/v1/namespaces/shop/pods?watch=true&watch=false")).statusCode, 400);
    while (lines.filter(({ refusedBy }) => refusedBy === "proxy").length < 4) await pause();
    onRequest = (_, response) => void response.writeHead(410, { "retry-after": "1" }).end("gone");
    const { statusCode, body, headers } = await watch();
    assert.deepEqual([statusCode, body.toString(), headers["retry-after"]], [410, "gone", "1"]);
  });

  test("are as many at once as a tenant may have, and begun as often", async () => {
    const streams = [];
    for (let index = 0; index < 5; index++) streams.push(await begun());
    assert.equal((await watch()).statusCode, 429);
    const ended = () => lines.filter(({ status }) => status === 200).length;
    let begunSoFar = 6;
    for (let before = ended(); begunSoFar < 40; before++, begunSoFar++) {
      await streams.pop()?.return();
      while (ended() === before) await pause();
      streams.push(await begun());
    }
    await streams.pop()?.return();
    // All that it may ask in a short time.
    assert.equal((await watch()).statusCode, 429);
  });

  test("ask elsewhere after an agent has said that it does not serve the tenant yet", async () => {
    const before = await begun();
    await before.return();
    tenants.set(consumer.id, false);
    isExpected = true;
    assert.equal((await watch()).statusCode, 503);
    tenants.set(consumer.id, true);
    const dialled = sockets.length;
    await begun();
    assert.equal(sockets.length, dialled + 1);
  });
});
