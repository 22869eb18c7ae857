import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ManualClock } from "@fjord/base/testing";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import { ConnectionError } from "./errors.ts";
import type { HttpRequest } from "./http.ts";
import { reply, testServer, until } from "./test-server.ts";
import { Transport, type TransportOptions } from "./transport.ts";

const get: HttpRequest = { method: "GET", path: "/api/v1/pods?limit=1", action: "list Pod" };
const post: HttpRequest = { method: "POST", path: "/api/v1/pods", action: "create Pod", body: "{}" };

function transportTo(server: string, config: Partial<ClusterConfig> = {}, options: TransportOptions = {}) {
  return new Transport({ server, namespace: "default", tls: {}, ...config }, options);
}

test("keeps the path of the base URL and sends the configured headers", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const headers = { "X-Who": "ann" };
  await using transport = transportTo(`${server.url}/clusters/one/`, { headers }, { userAgent: "test/1" });
  const response = await transport.request({ ...get, headers: { "X-Group": ["a", "b"] } });
  assert.equal(response.statusCode, 200);
  const [request] = server.requests;
  assert.equal(request?.url, "/clusters/one/api/v1/pods?limit=1");
  assert.equal(request?.headers["x-who"], "ann");
  assert.equal(request?.headers["user-agent"], "test/1");
  assert.equal(request?.rawHeaders.filter((name) => name.toLowerCase() === "x-group").length, 2);
});

test("knows what time it is at the server by its answers, to streams and refusals too", async () => {
  const clock = new ManualClock();
  let ahead = 90_000;
  const date = () => new Date(clock.now() + ahead).toUTCString();
  await using server = await testServer(({ url }, response) =>
    reply(response, url.includes("refused") ? 403 : 200, {}, { date: date() }),
  );
  await using transport = transportTo(server.url, {}, { clock });
  const { serverClock } = transport;
  /** An answer says its time to the second. */
  const isOff = (ms: number, measured = serverClock.now() - clock.now()) =>
    assert.ok(Math.abs(measured - ms) <= 1_000, `${measured} ms`);
  isOff(0);
  await transport.request(get);
  isOff(90_000);
  ahead = -480_000;
  await transport.stream({ ...get, path: "/watch", action: "watch Pod" });
  isOff(-480_000);
  ahead = 300;
  await transport.request({ ...get, path: "/refused" });
  isOff(0);
  await using other = transportTo(server.url, {}, { clock });
  ahead = -60_000;
  await other.request(get);
  isOff(60_000, serverClock.aheadOf(other.serverClock));
});

test("refuses a server that is not an HTTP URL", () => {
  for (const server of ["", "kubernetes:6443", "ftp://example.com"]) {
    assert.throws(() => transportTo(server), { code: "KUBE_INVALID_SERVER_URL" });
  }
});

test("asks for the credential with each request", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  let count = 0;
  const credentials = { current: async () => ({ authorization: `Bearer ${++count}` }), rejected() {} };
  await using transport = transportTo(server.url, { credentials });
  await transport.request(get);
  await transport.request(get);
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    ["Bearer 1", "Bearer 2"],
  );
});

test("reports a rejected credential and tries once more, even for writes", async () => {
  await using server = await testServer((request, response) =>
    reply(response, request.headers.authorization === "Bearer new" ? 201 : 401, {}),
  );
  let token = "old";
  const credentials = {
    current: async (): Promise<Credential> => ({ authorization: `Bearer ${token}` }),
    rejected() {
      token = "new";
    },
  };
  await using transport = transportTo(server.url, { credentials });
  assert.equal((await transport.request(post)).statusCode, 201);
  assert.equal(server.requests.length, 2);
});

test("gives up on a credential that is rejected twice", async () => {
  await using server = await testServer((_, response) => reply(response, 401, {}));
  let rejections = 0;
  const credentials = { current: async () => ({ authorization: "Bearer x" }), rejected: () => void rejections++ };
  await using transport = transportTo(server.url, { credentials });
  assert.equal((await transport.request(get)).statusCode, 401);
  assert.equal(server.requests.length, 2);
  assert.equal(rejections, 1);
});

test("waits for as long as a 429 says, for writes too", async () => {
  await using server = await testServer((_, response, index) =>
    reply(response, index < 2 ? 429 : 201, {}, index < 2 ? { "retry-after": "3" } : {}),
  );
  const clock = new ManualClock();
  await using transport = transportTo(server.url, {}, { clock });
  const response = transport.request(post);
  await until(() => clock.untilNext === 3_000);
  await clock.advance(2_900);
  assert.equal(server.requests.length, 1);
  await clock.advance(100);
  await until(() => server.requests.length === 2 && clock.untilNext === 3_000);
  await clock.advance(3_000);
  assert.equal((await response).statusCode, 201);
});

test("hands a 429 over once its waiting would exceed the budget", async () => {
  await using server = await testServer((_, response) => reply(response, 429, {}, { "retry-after": "20" }));
  const clock = new ManualClock();
  await using transport = transportTo(server.url, {}, { clock, tooManyRequestsBudgetMs: 30_000 });
  const response = transport.request(get);
  await until(() => clock.untilNext === 20_000);
  await clock.advance(20_000);
  assert.equal((await response).statusCode, 429);
  assert.equal(server.requests.length, 2);
});

test("stops waiting for a 429 when the signal aborts", async () => {
  await using server = await testServer((_, response) => reply(response, 429, {}, { "retry-after": "20" }));
  const clock = new ManualClock();
  await using transport = transportTo(server.url, {}, { clock });
  const stop = new AbortController();
  const response = transport.request({ ...get, signal: stop.signal });
  await until(() => clock.untilNext === 20_000);
  stop.abort(new Error("enough"));
  await assert.rejects(response, /enough/);
});

test("repeats a read whose connection was reset, before or within the answer", async () => {
  await using server = await testServer((request, response, index) => {
    if (index === 0) request.socket.resetAndDestroy();
    else if (index === 1)
      response.writeHead(200, { "content-length": "100" }).write("{", () => request.socket.destroy());
    else reply(response, 200, { whole: true });
  });
  await using transport = transportTo(server.url);
  assert.equal((await transport.request(get)).body.toString(), '{"whole":true}');
});

test("never repeats a write whose outcome is unknown", async () => {
  await using server = await testServer((request) => void request.socket.resetAndDestroy());
  await using transport = transportTo(server.url);
  await assert.rejects(transport.request(post), (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.code, "KUBE_CONNECTION");
    assert.equal(error.sent, true);
    assert.match(error.message, /cannot create Pod at http:\/\/127\.0\.0\.1:\d+: /);
    return true;
  });
  assert.equal(server.requests.length, 1);
});

test("says that a request was not sent when nobody listens", async () => {
  const gone = await testServer(() => {});
  await gone[Symbol.asyncDispose]();
  await using transport = transportTo(gone.url);
  await assert.rejects(transport.request(post), (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.sent, false);
    assert.match(error.message, /ECONNREFUSED/);
    return true;
  });
});

test("fails a request that is never answered", async () => {
  await using server = await testServer(() => {});
  await using transport = transportTo(server.url, {}, { headersTimeoutMs: 50 });
  await assert.rejects(transport.request(get), { name: "ConnectionError", message: /Timeout/ });
});

test("aborts a request under way, and one that has not begun", async () => {
  await using server = await testServer(() => {});
  await using transport = transportTo(server.url);
  const stop = new AbortController();
  const response = transport.request({ ...get, signal: stop.signal });
  await until(() => server.requests.length === 1);
  stop.abort();
  await assert.rejects(response, { name: "AbortError" });
  await assert.rejects(transport.request({ ...get, signal: stop.signal }), { name: "AbortError" });
  assert.equal(server.requests.length, 1);
  await until(() => server.sockets.every(({ destroyed }) => destroyed));
});

test("gives each stream a connection of its own, so that requests still pass", async () => {
  await using server = await testServer((request, response) => {
    if (request.url.includes("watch")) response.writeHead(200).write("x");
    else reply(response, 200, {});
  });
  await using transport = transportTo(server.url, {}, { connections: 1 });
  const streams = await Promise.all(
    [1, 2, 3].map((n) => transport.stream({ ...get, path: `/watch/${n}`, action: "watch Pod" })),
  );
  assert.equal((await transport.request(get)).statusCode, 200);
  assert.equal(server.sockets.length, 4);
  for (const { stream } of streams) assert.equal((await stream?.next())?.value?.toString(), "x");
  for (const { stream } of streams) await stream?.return();
  await until(() => server.sockets.filter(({ destroyed }) => destroyed).length === 3);
});

test("close lets requests end, cuts streams and refuses what comes later", async () => {
  let finish = () => {};
  await using server = await testServer((request, response) => {
    if (request.url.includes("watch")) response.writeHead(200).write("x");
    else finish = () => reply(response, 200, { done: true });
  });
  const transport = transportTo(server.url);
  const { stream } = await transport.stream({ ...get, path: "/watch", action: "watch Pod" });
  assert.equal((await stream?.next())?.value?.toString(), "x");
  const read = stream?.next();
  const response = transport.request(get);
  await until(() => server.requests.length === 2);
  const closed = transport.close();
  await assert.rejects(read ?? Promise.resolve(), { code: "KUBE_TRANSPORT_CLOSED" });
  finish();
  assert.equal((await response).body.toString(), '{"done":true}');
  await closed;
  await assert.rejects(transport.request(get), { code: "KUBE_TRANSPORT_CLOSED" });
});

test("goes over connections that the caller gives, requests and streams alike", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const given: Duplex[] = [];
  // Stands for a tunnel: whatever the host, it leads to the test's server.
  const connect = async () => {
    const socket = connectTcp(server.port, "127.0.0.1");
    await once(socket, "connect");
    // Not a socket but any two-way stream.
    const stream = Duplex.from({ readable: socket, writable: socket });
    given.push(stream);
    return stream;
  };
  const transport = transportTo("https://far.example", {}, { connect });
  assert.equal((await transport.request(get)).statusCode, 200);
  assert.equal((await transport.request(post)).statusCode, 200);
  const { stream } = await transport.stream(get);
  assert.equal((await stream?.next())?.value?.toString(), "{}");
  await stream?.return();
  const { stream: another } = await transport.stream(get);
  await another?.return();
  // A stream goes over the connection that a request has just used, and has it for itself from then on.
  assert.equal(given.length, 2);
  assert.equal(server.requests[0]?.headers.host, "far.example");
  await transport.close();
  assert.ok(given.every(({ destroyed }) => destroyed));
});

test("says why the caller's way to connect led nowhere", async () => {
  const connect = () => Promise.reject(new Error("the tunnel is down"));
  await using transport = transportTo("http://far.example", {}, { connect });
  await assert.rejects(transport.request(post), { name: "ConnectionError", message: /tunnel is down/, sent: false });
  await assert.rejects(transport.stream(get), { name: "ConnectionError", message: /tunnel is down/, sent: false });
});

test("goes through an HTTP proxy", async () => {
  await using proxy = await testServer((_, response) => reply(response, 200, { forwarded: true }));
  await using transport = transportTo("http://far.example", { proxy: proxy.url });
  assert.equal((await transport.request(get)).body.toString(), '{"forwarded":true}');
  assert.equal(proxy.requests[0]?.url, "http://far.example/api/v1/pods?limit=1");
  assert.equal(proxy.requests[0]?.headers.host, "far.example");
  const withCredentials = proxy.url.replace("http://", "http://u:p%40@");
  await using known = transportTo("http://far.example", { proxy: withCredentials });
  await known.request(get);
  assert.equal(proxy.requests[1]?.headers["proxy-authorization"], `Basic ${btoa("u:p@")}`);
});

test("a silent stream fails after its idle timeout", async () => {
  await using server = await testServer((_, response) => void response.writeHead(200).write("x"));
  const clock = new ManualClock();
  await using transport = transportTo(server.url, {}, { clock });
  const { stream } = await transport.stream({ ...get, idleTimeoutMs: 10_000 });
  await stream?.next();
  const silent = stream?.next() ?? Promise.resolve();
  const failed = assert.rejects(silent, { name: "ConnectionError", message: /nothing arrived for 10 s/ });
  await clock.advance(20_000);
  await failed;
  await until(() => server.sockets[0]?.destroyed === true);
});

test("reads compressed answers, and asks for none of a server on this machine unless told so", async () => {
  const body = gzipSync(JSON.stringify({ text: "x".repeat(100_000) }));
  await using server = await testServer((request, response) => {
    const zipped = request.headers["accept-encoding"] === "gzip";
    const whole = request.method === "GET" ? body : body.subarray(0, body.length / 2);
    response.writeHead(200, zipped ? { "content-encoding": "gzip" } : {}).end(zipped ? whole : "{}");
  });
  await using plain = transportTo(server.url);
  assert.equal((await plain.request(get)).body.toString(), "{}");
  await using transport = transportTo(server.url, {}, { compress: true });
  assert.equal(JSON.parse((await transport.request(get)).body.toString()).text.length, 100_000);
  await assert.rejects(transport.request(post), { name: "ConnectionError", message: /unexpected end of file/ });
});

test("refuses an answer that is larger than allowed, packed or not", async () => {
  const body = gzipSync("x".repeat(1_000_000));
  await using server = await testServer((request, response) => {
    if (request.method === "GET") response.writeHead(200, { "content-encoding": "gzip" }).end(body);
    else response.writeHead(200).end("x".repeat(1_000_000));
  });
  await using transport = transportTo(server.url, {}, { maxBodyBytes: 999_999 });
  for (const request of [get, post]) {
    await assert.rejects(transport.request(request), { name: "ConnectionError", message: /larger than is allowed/ });
  }
  await using larger = transportTo(server.url, {}, { maxBodyBytes: 1_000_000 });
  assert.equal((await larger.request(get)).body.length, 1_000_000);
});

test("takes no more of answers that are under way at once than is allowed together", async () => {
  const half = "x".repeat(500_000);
  let open = 0;
  const finish: (() => void)[] = [];
  await using server = await testServer((_, response) => {
    response.writeHead(200).write(half);
    finish.push(() => response.end(half));
    if (++open >= 3) for (const each of finish.splice(0)) each();
  });
  await using transport = transportTo(server.url, {}, { maxBodyBytes: 1_000_000, answersBytes: 1_200_000 });
  const answers = await Promise.allSettled([1, 2, 3].map(() => transport.request(post)));
  const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [String(answer.reason)] : []));
  assert.ok(refused.length > 0, "three answers of a megabyte were held at once");
  for (const reason of refused) assert.match(reason, /answers under way are larger together than 1200000 bytes/);
  assert.equal((await transport.request(post)).body.length, 1_000_000);
});

test("an aborted signal ends a stream with its reason", async () => {
  await using server = await testServer((_, response) => void response.writeHead(200).write("x"));
  await using transport = transportTo(server.url);
  const stop = new AbortController();
  const { stream } = await transport.stream({ ...get, signal: stop.signal });
  await stream?.next();
  const next = stream?.next() ?? Promise.resolve();
  stop.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  const [socket] = server.sockets;
  if (!socket?.destroyed) await once(socket as NonNullable<typeof socket>, "close");
});
