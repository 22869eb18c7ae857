import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { PeerRoute, RawRoute } from "../../peer-routes.ts";
import { LARGEST_BODY } from "../../protocol.ts";
import type { PeerMetrics } from "./peer-metrics.ts";
import { PeerServer, type PeerServerOptions } from "./peer-server.ts";
import { siteRoute } from "./site-route.ts";
import { means, siteObject, testSite } from "./test-sites.ts";

const [provider, consumer, peer, stranger] = await Promise.all([testSite(), testSite(), testSite(), testSite()]);
const sites = new Map([
  [consumer.id, siteObject(consumer.id, { mayConsume: true })],
  [peer.id, siteObject(peer.id)],
]);

const routes: PeerRoute[] = [
  { method: "POST", path: "/echo", access: "peer", handle: async ({ body, caller }) => ({ body, id: caller.id }) },
  { method: "GET", path: "/things/:name/part", access: "consumer", handle: async ({ params }) => params },
  { method: "GET", path: "/open", access: "stranger", handle: async ({ caller }) => caller.site !== undefined },
  {
    method: "GET",
    path: "/refuse",
    access: "peer",
    handle: async () => {
      throw new PeerRefused({ code: "AmountRefused", message: "too much", available: { cpu: "2" } }, 409);
    },
  },
  {
    method: "GET",
    path: "/broken",
    access: "peer",
    handle: async () => {
      throw new Error("the password is swordfish");
    },
  },
  siteRoute({
    id: provider.id,
    published: () => ({ name: "lively-wave" }),
    endpoints: () => [],
    shared: () => ({ cpu: "8" }),
    free: () => ({ cpu: "4" }),
    contractsOf: (id) => [{ id: `of-${id}`, phase: "Active", standing: "Open", tenantReady: true }],
  }),
];
const echo: RawRoute = {
  prefix: "/raw",
  access: "peer",
  handle: (incoming, response) => void response.end(incoming.url),
  upgrade: (_request, socket, head) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n");
    socket.write(head);
    socket.pipe(socket);
  },
};

const stop = new AbortController();
const counted: string[] = [];
const peerMetrics: PeerMetrics = {
  request: (route, status) => void counted.push(`${route} ${status}`),
  connectionRefused: (reason) => void counted.push(`refused ${reason}`),
  connections() {},
  proxied() {},
};

async function start(options: Partial<PeerServerOptions> = {}): Promise<number> {
  const server = new PeerServer({
    ...means,
    tls: provider.tls,
    siteOf: (id) => sites.get(id),
    routes,
    rawRoutes: [echo],
    host: "127.0.0.1",
    port: 0,
    peerMetrics,
    ...options,
  });
  const address = await server.listen();
  runs.push(server.run(stop.signal));
  return address?.port ?? 0;
}

const runs: Promise<void>[] = [];
const port = await start();
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

function dial(as: typeof consumer, to = port): Promise<TLSSocket> {
  return as.tls.connect(`https://127.0.0.1:${to}`, provider.id);
}

interface Asked {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  to?: number;
}

async function ask(as: typeof consumer, path: string, { method = "GET", body, headers = {}, to }: Asked = {}) {
  const socket = await dial(as, to);
  const asked = request({ createConnection: () => socket, method, path, headers });
  asked.on("error", () => {});
  asked.end(body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const answer = await text(response);
  socket.destroy();
  return {
    status: response.statusCode,
    headers: response.headers,
    json: answer === "" ? undefined : JSON.parse(answer),
  };
}

const json = { "content-type": "application/json" };

describe("a PeerServer", () => {
  test("gives a peer's call to its route, with who asks and what", async () => {
    const { status, json: answer } = await ask(peer, "/fjord/v1/echo", {
      method: "POST",
      body: '{"a":1}',
      headers: json,
    });
    assert.equal(status, 200);
    assert.deepEqual(answer, { body: { a: 1 }, id: peer.id });
  });

  test("names the parts of a path", async () => {
    assert.deepEqual((await ask(consumer, "/fjord/v1/things/a.b-c/part")).json, { name: "a.b-c" });
    for (const path of ["/fjord/v1/things/../part", "/fjord/v1/things/a%2fb/part", "/fjord/v1/things//part", "/"])
      assert.equal((await ask(consumer, path)).status, 404, path);
  });

  test("keeps strangers from peers' routes and peers from consumers'", async () => {
    assert.deepEqual(pick(await ask(stranger, "/fjord/v1/echo", { method: "POST" })), [403, "NotPaired"]);
    assert.deepEqual(pick(await ask(peer, "/fjord/v1/things/a/part")), [403, "MayNotConsume"]);
    const { json } = await ask(peer, "/fjord/v1/things/a/part");
    assert.match(json.message, /use nothing of it \(mayConsume of its Site there\)/);
    assert.deepEqual(pick(await ask(stranger, "/raw/x")), [403, "NotPaired"]);
    assert.equal((await ask(stranger, "/fjord/v1/open")).json, false);
    assert.equal((await ask(peer, "/fjord/v1/open")).json, true);
  });

  test("tells its report to each peer, and amounts only to consumers", async () => {
    const { json: toPeer } = await ask(peer, "/fjord/v1/site");
    assert.equal(toPeer.shared, undefined);
    assert.equal(toPeer.contracts[0].id, `of-${peer.id}`);
    const { json: toConsumer } = await ask(consumer, "/fjord/v1/site");
    assert.deepEqual([toConsumer.shared, toConsumer.free], [{ cpu: "8" }, { cpu: "4" }]);
    assert.equal((await ask(stranger, "/fjord/v1/site")).status, 403);
  });

  test("says no in the words of the route, and tells nothing of what broke inside", async () => {
    const { status, json: refusal } = await ask(peer, "/fjord/v1/refuse");
    assert.equal(status, 409);
    assert.deepEqual(refusal, { code: "AmountRefused", message: "too much", available: { cpu: "2" } });
    const broken = await ask(peer, "/fjord/v1/broken");
    assert.equal(broken.status, 500);
    assert.doesNotMatch(JSON.stringify(broken.json), /swordfish/);
  });

  test("refuses bodies that are too large, no JSON, or of another type", async () => {
    const post = (body: string, headers: Record<string, string> = json) =>
      ask(peer, "/fjord/v1/echo", { method: "POST", body, headers });
    assert.deepEqual(pick(await post(`"${"x".repeat(LARGEST_BODY)}"`)), [413, "TooLarge"]);
    assert.deepEqual(pick(await post(`"${"x".repeat(LARGEST_BODY)}"`, { ...json, "transfer-encoding": "chunked" })), [
      413,
      "TooLarge",
    ]);
    assert.deepEqual(pick(await post("{")), [400, "NotJson"]);
    assert.deepEqual(pick(await post("{}", { "content-type": "text/plain" })), [415, "NotJson"]);
  });

  test("knows no other path and no other method", async () => {
    assert.deepEqual(pick(await ask(peer, "/fjord/v1/nothing")), [404, "NotFound"]);
    assert.deepEqual(pick(await ask(peer, "/fjord/v1/echo")), [405, "MethodNotAllowed"]);
    assert.deepEqual(pick(await ask(peer, "/rawer")), [404, "NotFound"]);
  });

  test("answers 401 to who shows no certificate", async () => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    socket.write("GET /fjord/v1/site HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1.1 401 /);
    assert.match(answer, /"code":"Unidentified"/);
    assert.ok(counted.includes("refused CertificateMissing"));
  });

  test("lets strangers ask only so often", async () => {
    const limited = await start({ limits: { strangersBurst: 2, strangersPerSecond: 0.001 } });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await ask(stranger, "/fjord/v1/open", { to: limited })).status);
    assert.deepEqual(statuses, [200, 200, 429]);
    assert.equal((await ask(peer, "/fjord/v1/open", { to: limited })).status, 200);
  });

  test("lets each peer ask only so often, and what takes long less often", async () => {
    const dear: PeerRoute = { method: "GET", path: "/dear", access: "peer", cost: 4, handle: async () => ({}) };
    const limits = { questionsBurst: 10, questionsPerSecond: 0.001 };
    const limited = await start({ routes: [...routes, dear], limits });
    const statuses = [];
    for (const path of ["/dear", "/dear", "/dear", "/open", "/nothing", "/open"])
      statuses.push((await ask(peer, `/fjord/v1${path}`, { to: limited })).status);
    assert.deepEqual(statuses, [200, 200, 429, 200, 404, 429]);
    assert.equal((await ask(consumer, "/fjord/v1/open", { to: limited })).status, 200);
  });

  test("counts large bodies as several questions, and those whose length is not told as the largest", async () => {
    const limits = { questionsBurst: 70, questionsPerSecond: 0.001 };
    const put = async (to: number, body: string, headers: Record<string, string> = {}) =>
      (await ask(peer, "/fjord/v1/echo", { method: "POST", body, headers: { ...json, ...headers }, to })).status;
    const large = `"${"x".repeat(100 * 1024)}"`;
    const limited = await start({ limits });
    assert.deepEqual([await put(limited, large), await put(limited, large)], [200, 200]);
    assert.deepEqual([await put(limited, large), await put(limited, "{}")], [429, 200]);
    const untold = { "transfer-encoding": "chunked" };
    const another = await start({ limits });
    assert.deepEqual([await put(another, "{}", untold), await put(another, "{}", untold)], [200, 429]);
  });

  test("takes only so many connections of one peer", async () => {
    const limited = await start({ limits: { connectionsPerPeer: 2 } });
    const sockets = [await dial(peer, limited), await dial(peer, limited), await dial(peer, limited)];
    const third = sockets[2] as TLSSocket;
    third.on("error", () => {}).resume();
    await once(third, "close");
    const other = await ask(consumer, "/fjord/v1/open", { to: limited });
    assert.equal(other.status, 200);
    for (const socket of sockets) socket.destroy();
  });

  test("answers so many questions of one peer at once, also of those that come on one connection", async () => {
    const go = Promise.withResolvers<void>();
    let inside = 0;
    const handle = async () => {
      inside++;
      await go.promise;
    };
    const waiting: PeerRoute = { method: "GET", path: "/wait", access: "peer", handle };
    const limited = await start({ routes: [...routes, waiting], limits: { requestsPerPeer: 4 } });
    const socket = await dial(peer, limited);
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk));
    const statuses = () =>
      [
        ...Buffer.concat(heard)
          .toString()
          .matchAll(/HTTP\/1.1 (\d+)/g),
      ].map(([, status]) => status);
    socket.write("GET /fjord/v1/wait HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100));
    // Whoever else asks is answered meanwhile, and by then all have come.
    while (inside < 4) assert.equal((await ask(consumer, "/fjord/v1/open", { to: limited })).status, 200);
    assert.equal((await ask(peer, "/fjord/v1/open", { to: limited })).status, 429);
    go.resolve();
    while (statuses().length < 100) await once(socket, "data");
    assert.equal(inside, 4);
    assert.deepEqual(statuses(), [...Array(4).fill("200"), ...Array(96).fill("429")]);
    assert.equal((await ask(peer, "/fjord/v1/open", { to: limited })).status, 200);
    socket.destroy();
  });

  test("ends a connection whose request does not come to its end", async () => {
    const hasty = await start({ limits: { headersMs: 200, requestMs: 400 } });
    const socket = await dial(peer, hasty);
    socket.write("GET /fjord/v1/site HTTP/1.1\r\nhost: x\r\nx-slow: ");
    assert.match(await text(socket), /^HTTP\/1.1 408 .*"code":"TooSlow"/s);
  });

  test("ends slow requests on connections that it was given too", async () => {
    const { port: _, ...unlistening } = { port: undefined };
    const server = new PeerServer({
      ...means,
      tls: provider.tls,
      siteOf: (id) => sites.get(id),
      routes,
      rawRoutes: [echo],
      limits: { headersMs: 200, requestMs: 400 },
      ...unlistening,
    });
    runs.push(server.run(stop.signal));
    const { duplexPair } = await import("node:stream");
    const [near, far] = duplexPair();
    server.serve(far, { id: peer.id, publicKey: peer.key.publicKey });
    near.write("GET /fjord/v1/site HTTP/1.1\r\nhost: x\r\nx-slow: ");
    assert.match(await text(near), /^HTTP\/1.1 408 /);
    const [other, served] = duplexPair();
    server.serve(served, { id: peer.id, publicKey: peer.key.publicKey });
    other.write("GET /fjord/v1/site HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert.match(await text(other), /"lively-wave"/);
  });

  test("stops although somebody is still shaking hands, or ends that only later", async () => {
    const ending = new AbortController();
    const server = new PeerServer({
      ...means,
      tls: provider.tls,
      siteOf: (id) => sites.get(id),
      routes,
      rawRoutes: [],
      host: "127.0.0.1",
      port: 0,
    });
    const { port: to } = (await server.listen()) ?? { port: 0 };
    const run = server.run(ending.signal).then(() => "stopped");
    const begun = connectTcp(to, "127.0.0.1").on("error", () => {});
    await once(begun, "connect");
    // The server has taken that one, too, once another one's question is answered.
    await ask(peer, "/fjord/v1/site", { to });
    ending.abort();
    await sleep(10);
    const late = connect({ socket: begun, rejectUnauthorized: false }).on("error", () => {});
    const outcome = await Promise.race([run, sleep(8_000, "still there")]);
    late.destroy();
    begun.destroy();
    assert.equal(outcome, "stopped");
  });

  test("refuses headers that are too large, and what is no HTTP", async () => {
    const raw = async (bytes: string) => {
      const socket = await dial(peer);
      socket.on("error", () => {}).write(bytes);
      return await text(socket).catch(() => "");
    };
    assert.match(await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(20_000)}\r\n\r\n`), /^HTTP\/1.1 431 /);
    assert.match(await raw("what is this\r\n\r\n"), /^HTTP\/1.1 400 /);
    // Two ways to say how long a body is: a request for who reads the one may hide in what the other leaves.
    const smuggled =
      "POST /fjord/v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n";
    assert.match(await raw(`${smuggled}0\r\n\r\n`), /^HTTP\/1.1 400 /);
  });

  test("passes an upgrade to its route, and refuses others", async () => {
    const socket = await dial(peer);
    socket.write("GET /raw/x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\nhello");
    const [first] = (await once(socket, "data")) as [Buffer];
    assert.match(first.toString(), /^HTTP\/1.1 101 /);
    socket.destroy();
    const refusedSocket = await dial(stranger);
    refusedSocket.write("GET /raw/x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n");
    assert.match(await text(refusedSocket), /^HTTP\/1.1 403 .*"code":"NotPaired"/s);
  });

  test("counts requests by route and outcome", async () => {
    await ask(peer, "/fjord/v1/refuse");
    assert.ok(counted.includes("GET /refuse 409"));
    assert.ok(counted.includes("GET /site 200"));
  });
});

function pick({ status, json: body }: { status: number | undefined; json: { code: string } }): unknown[] {
  return [status, body.code];
}
