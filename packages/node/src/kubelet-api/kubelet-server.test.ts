import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { describeError } from "@fjord/base";
import { execOverSpdy } from "../stream/index.ts";
import { KubeletServer } from "./kubelet-server.ts";
import { type Answer, TestServer } from "./test-server.ts";

const spdy = { upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" };
const execPath = "/exec/default/web/main?output=1&command=true";

test("a port that is taken is told by its number, with what to do", async () => {
  await using test = await TestServer.start();
  const { port } = test.server.address;
  const second = new KubeletServer({ ...test.options, port });
  const told = await second.listen().catch(describeError);
  assert.equal(
    told,
    `cannot serve the kubelet API on port ${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
  );
});

test("nobody gets in without being known, and nobody gets at what they may not", async () => {
  await using test = await TestServer.start();
  const status = async (path: string, authorization?: string) =>
    (await test.ask(path, { headers: authorization === undefined ? {} : { authorization } })).status;
  for (const wrong of [
    undefined,
    "Bearer wrong",
    "Bearer",
    "Basic Z29vZDo=",
    "Bearer good extra",
    "good",
    "Bearer \tgood",
  ])
    assert.equal(await status("/pods", wrong), 401, wrong);
  assert.equal(await status("/pods", "Bearer good"), 200);
  assert.equal(await status("/stats/summary", "bearer weak"), 200);
  assert.equal(await status("/pods", "Bearer weak"), 200);
  const refused = await test.ask("/metrics", { headers: { authorization: "Bearer weak" } });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /user=weak, verb=get, resource=nodes, subresource\(s\)=\[metrics\]/);
  assert.equal(await status("/containerLogs/default/web/main", "Bearer weak"), 403);
  const exec = await test.upgrade(execPath, { ...spdy, authorization: "Bearer weak" });
  assert.equal((exec as Answer).status, 403);
});

test("client certificates count only where the cluster's authority has signed them", async () => {
  await using test = await TestServer.start();
  await using other = await TestServer.start();
  const request = { commonName: "admin", organizations: ["one", "two"], usages: ["client"] } as const;
  const asks = async (authority: typeof test.authority, more: object = {}) => {
    const { certificate: cert, key } = await authority.issue({ ...request, ...more }, Date.now());
    return (await test.ask("/pods", { cert, key, headers: {} })).status;
  };
  assert.equal(await asks(test.authority), 200);
  assert.equal(await asks(other.authority), 401);
  assert.equal(await asks(test.authority, { usages: ["server"] }), 401);
  assert.equal(await asks(test.authority, { commonName: "nobody" }), 403);
});

test("without an authority for clients no certificate counts, not even one of the server's own", async () => {
  await using test = await TestServer.start();
  const { certificate: cert, key } = await test.authority.issue(
    { commonName: "admin", dnsNames: ["node"] },
    Date.now(),
  );
  test.server.setTls({ cert, key });
  assert.equal((await test.ask("/pods", { cert, key, headers: {} })).status, 401);
});

test("while the API server cannot be asked, nobody gets in whom it has not confirmed before", async () => {
  await using test = await TestServer.start();
  assert.equal((await test.ask("/stats/summary")).status, 200);
  test.reviewer.down = true;
  assert.equal((await test.ask("/stats/summary")).status, 200);
  const unknown = await test.ask("/stats/summary", { headers: { authorization: "Bearer new" } });
  assert.equal(unknown.status, 503);
  assert.match(unknown.text, /cannot ask the API server whose token this is/);
  assert.equal((await test.ask("/metrics")).status, 503);
  test.reviewer.down = false;
  assert.equal((await test.ask("/metrics")).status, 200);
});

test("the same question is asked once, for a while", async () => {
  await using test = await TestServer.start();
  await Promise.all(Array.from({ length: 10 }, () => test.ask("/metrics")));
  assert.deepEqual(test.reviewer.asked, ["token good", "good get metrics"]);
});

test("tokens are never logged", async () => {
  await using test = await TestServer.start();
  const headers = { authorization: "Bearer very-secret" };
  await test.ask("/pods", { headers });
  test.reviewer.down = true;
  await test.ask("/metrics", { headers: { authorization: "Bearer very-secret-2" } });
  assert.ok(test.logged.length > 0);
  assert.ok(!test.logged.join().includes("very-secret"));
});

test("paths that lead nowhere, or to somewhere else, are refused", async () => {
  await using test = await TestServer.start();
  for (const path of [
    "/",
    "//pods",
    "/pods/x",
    "/PODS",
    "/stats",
    "/logs/../pods",
    "/stats/../exec/default/web/main",
    "/metrics/%2e%2e/pods",
    "/containerLogs/default/web",
    "/containerLogs/default/web/main/more",
    "/containerLogs/default/..%2fweb/main",
    "/containerLogs/default/web/..",
    "/containerLogs//web/main",
    "/containerLogs/default/web/main%00",
    "/exec/default/web/a%2fb",
    "/containerLogs/default/WEB/main",
    "/run/default/web/main",
    "/configz",
  ])
    assert.equal((await test.ask(path)).status, 404, path);
  for (const path of ["/containerLogs/default/web/%E0%A4%A", "http://node/pods", "*"])
    assert.equal((await test.ask(path)).status, 400, path);
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
    assert.equal((await test.ask("/pods", { method })).status, 405, method);
  assert.equal((await test.ask(execPath)).text, "Upgrade request required\n");
});

test("pods and containers that are not here are named", async () => {
  await using test = await TestServer.start();
  const answer = async (path: string) => {
    const { status, text } = await test.ask(path);
    return `${status} ${text}`;
  };
  assert.equal(await answer("/containerLogs/default/api/main"), '404 pod "api" does not exist\n');
  assert.equal(await answer("/containerLogs/other/web/main"), '404 pod "web" does not exist\n');
  assert.equal(await answer("/containerLogs/default/web/side"), '404 container "side" not found in pod "web"\n');
  assert.match(await answer("/containerLogs/default/web/main?previous=true"), /^400 previous terminated container/);
  assert.match(await answer("/containerLogs/default/web/main?tailLines=-1"), /^422 /);
  assert.match(await answer("/containerLogs/default/web/main?sinceTime=yesterday"), /^400 /);
  assert.equal(((await test.upgrade("/exec/default/web/uid-2/main?output=1", spdy)) as Answer).status, 404);
  assert.equal(((await test.upgrade("/exec/default/web/main", spdy)) as Answer).status, 400);
  assert.equal(((await test.upgrade("/pods", spdy)) as Answer).status, 400);
});

test("clients that speak other protocols are told which ones there are", async () => {
  await using test = await TestServer.start();
  const other = await test.upgrade(execPath, { ...spdy, "x-stream-protocol-version": "v9.channel.k8s.io" });
  assert.equal((other as Answer).status, 403);
  assert.match((other as Answer).text, /client supports \[v9.channel.k8s.io\], server accepts \[v4.channel.k8s.io/);
  const webSocket = {
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "x".repeat(22).concat("=="),
  };
  const wrong = await test.upgrade(execPath, { ...webSocket, "sec-websocket-protocol": "chat" });
  assert.equal((wrong as Answer).status, 403);
  const broken = await test.upgrade(execPath, { ...webSocket, "sec-websocket-key": "short" });
  assert.equal((broken as Answer).status, 400);
  const ports = await test.upgrade("/portForward/default/web", webSocket);
  assert.match((ports as Answer).text, /"port" is required/);
});

test("the node's health is told with the reason", async () => {
  await using test = await TestServer.start();
  assert.equal((await test.ask("/healthz")).text, "ok");
  test.backend.sick = true;
  const sick = await test.ask("/healthz");
  assert.equal(sick.status, 500);
  assert.match(sick.text, /3 minutes/);
  assert.equal((await test.ask("/healthz/ping")).status, 200);
  assert.equal((await test.ask("/healthz/syncloop")).status, 500);
});

test("a log that fails on the way is cut off, not ended", async () => {
  await using test = await TestServer.start();
  test.backend.logs = async () =>
    (async function* () {
      yield Buffer.from("a line\n");
      throw new Error("the disk is gone");
    })();
  await assert.rejects(test.ask("/containerLogs/default/web/main"), /aborted|socket hang up/);
});

test("the end of a log comes by itself: API servers lose on the way to a WebSocket what comes with it", async () => {
  await using test = await TestServer.start();
  test.backend.logs = async () =>
    (async function* () {
      yield Buffer.from("container is alive\n");
    })();
  const socket = test.connect();
  const parts: string[] = [];
  socket.on("data", (part: Buffer) => parts.push(part.toString()));
  socket.write("GET /containerLogs/default/web/main HTTP/1.1\r\nhost: node\r\nauthorization: Bearer good\r\n\r\n");
  while (!parts.join("").endsWith("0\r\n\r\n")) await once(socket, "data");
  assert.ok(parts.some((part) => part.includes("container is alive")));
  assert.deepEqual(
    parts.filter((part) => part.includes("container is alive") && part.includes("0\r\n\r\n")),
    [],
  );
  socket.destroy();
});

test("a client that does not read a log is left after its time", async () => {
  await using test = await TestServer.start({ stallMs: 50 });
  const gone = Promise.withResolvers<void>();
  test.backend.logs = async (_address, _request, signal) => {
    signal.addEventListener("abort", () => gone.resolve());
    return (async function* () {
      while (!signal.aborted) yield Buffer.alloc(100_000);
    })();
  };
  const socket = test.connect();
  socket.on("error", () => {});
  socket.write("GET /containerLogs/default/web/main HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer good\r\n\r\n");
  socket.pause();
  await gone.promise;
  socket.destroy();
});

test("a new certificate is used for new connections", async () => {
  await using test = await TestServer.start();
  const { certificate: cert, key } = await test.authority.issue(
    { commonName: "second", dnsNames: ["node"] },
    Date.now(),
  );
  test.server.setTls({ cert, key, clientCa: test.authority.certificate });
  const socket = test.connect();
  await once(socket, "secureConnect");
  assert.equal(socket.getPeerCertificate().subject.CN, "second");
  socket.destroy();
  assert.throws(() => test.server.setTls({ cert: "nonsense", key }), { code: "KUBELET_INVALID_TLS" });
  assert.equal((await test.ask("/pods")).status, 200);
});

test("connections that are never used, or never finished, are closed", async () => {
  await using test = await TestServer.start({ headerMs: 100 });
  const raw = connect(test.server.address.port, "127.0.0.1");
  raw.resume().on("error", () => {});
  const silent = test.connect();
  silent.resume().on("error", () => {});
  const slow = test.connect();
  slow.resume().on("error", () => {});
  slow.write("GET /pods HTTP/1.1\r\nHost: ");
  const closed = (socket: Duplex) => new Promise((resolve) => socket.once("close", resolve));
  await Promise.all([closed(raw), closed(silent), closed(slow)]);
});

test("heads of requests beyond the limit are refused", async () => {
  await using test = await TestServer.start({ headerBytes: 2000 });
  const headers = { authorization: "Bearer good", "x-long": "x".repeat(4000) };
  assert.equal((await test.ask("/pods", { headers })).status, 431);
});

test("more streams than the limit are refused", async () => {
  await using test = await TestServer.start({ streams: 1 });
  const first = (await test.upgrade(execPath, spdy)) as Duplex;
  first.on("error", () => {});
  const second = (await test.upgrade(execPath, spdy)) as Answer;
  assert.equal(second.status, 503);
  first.destroy();
});

test("streams that strangers ask for leave room for those who may have them", async () => {
  await using test = await TestServer.start({ streams: 1 });
  const strangers = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const socket = test.connect({ allowHalfOpen: true } as Parameters<TestServer["connect"]>[0]);
      await once(socket, "secureConnect");
      socket.write(`GET ${execPath} HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1.1 401 /);
      return socket;
    }),
  );
  const first = await test.upgrade(execPath, spdy);
  assert.ok("destroy" in first, JSON.stringify(first));
  for (const socket of [...strangers, first]) socket.destroy();
});

for (const [what, bytes] of [
  ["a giant frame", Buffer.from("8003000100ffffff", "hex")],
  ["HTTP", Buffer.from("GET /pods HTTP/1.1\r\nHost: node\r\n\r\n")],
  ["nothing", Buffer.alloc(0)],
] as const) {
  test(`a client that sends ${what} instead of streams leaves nothing behind`, async () => {
    await using test = await TestServer.start();
    const socket = (await test.upgrade(execPath, spdy)) as Duplex;
    socket.on("error", () => {});
    socket.resume();
    if (bytes.length > 0) socket.write(bytes);
    else socket.destroy();
    await new Promise((resolve) => socket.once("close", resolve));
    const streams = async () => /fjord_node_streams (\d+)/.exec((await test.ask("/metrics")).text)?.[1];
    while ((await streams()) !== "0") await tick();
  });
}

test("a command whose client vanishes loses its input and is aborted", async () => {
  await using test = await TestServer.start();
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  test.backend.exec = async (_address, _command, streams, signal) => {
    started.resolve();
    for await (const _ of streams.stdin ?? []);
    ended.resolve(`input ended, aborted ${signal.aborted}`);
    return 0;
  };
  const abort = new AbortController();
  const { PassThrough } = await import("node:stream");
  const url = `https://127.0.0.1:${test.server.address.port}/exec/default/web/main?input=1`;
  const running = execOverSpdy(
    url,
    { stdin: new PassThrough(), tty: false },
    {
      action: "run a command",
      headers: { authorization: "Bearer good" },
      tls: { rejectUnauthorized: false },
      signal: abort.signal,
    },
  );
  await started.promise;
  abort.abort(new Error("enough"));
  await assert.rejects(running, /enough/);
  assert.equal(await ended.promise, "input ended, aborted true");
});

test("when it is stopped, nothing stays open", async () => {
  const test = await TestServer.start();
  const idle = test.connect();
  await once(idle, "secureConnect");
  idle.on("error", () => {}).resume();
  const stream = (await test.upgrade(execPath, spdy)) as Duplex;
  stream.on("error", () => {}).resume();
  const closed = [idle, stream].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  await test[Symbol.asyncDispose]();
  await Promise.all(closed);
});
