import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ConnectionError } from "./errors.ts";
import type { HttpRequest } from "./http.ts";
import { retryAfterSeconds } from "./http.ts";
import { drip, rawReply, rawTestServer } from "./raw-test-server.ts";
import { until } from "./test-server.ts";
import { Transport, type TransportOptions } from "./transport.ts";

const get: HttpRequest = { method: "GET", path: "/x", action: "get it" };
const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n";

/** Longer than a test may take: what ends before has not ended because its time was over. */
const patient: TransportOptions = { requestTimeoutMs: 600_000, headersTimeoutMs: 600_000, bodyTimeoutMs: 600_000 };

async function setUp(answer: (socket: Socket, head: string) => void, options: TransportOptions = {}, token?: string) {
  const server = await rawTestServer(answer);
  const credentials =
    token === undefined
      ? {}
      : { credentials: { current: async () => ({ authorization: `Bearer ${token}` }), rejected() {} } };
  const transport = new Transport({ server: server.url, namespace: "a", tls: {}, ...credentials }, options);
  return {
    server,
    transport,
    async [Symbol.asyncDispose]() {
      await transport.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("what is not gzip ends the connection, however much more of it comes", { timeout: 60_000 }, async () => {
  await using t = await setUp((socket) => {
    socket.write(`${chunked}content-encoding: gzip\r\n\r\n`);
    drip(socket, `400\r\n${"z".repeat(1024)}\r\n`);
  }, patient);
  await assert.rejects(t.transport.request(get), ConnectionError);
  await until(() => t.server.sockets.size === 0);
  await t.transport.close();
});

test("what goes on after compressed content has ended is refused", { timeout: 60_000 }, async () => {
  const body = Buffer.concat([gzipSync("{}"), Buffer.from("junk")]);
  await using t = await setUp((socket) => {
    socket.write(`${chunked}content-encoding: gzip\r\n\r\n${body.length.toString(16)}\r\n`);
    socket.write(Buffer.concat([body, Buffer.from("\r\n")]));
    drip(socket, "4\r\njunk\r\n");
  }, patient);
  await assert.rejects(t.transport.request(get), ConnectionError);
  await until(() => t.server.sockets.size === 0);
});

test("a collector that throws fails its request and not the process", async () => {
  const collector = () => ({
    push() {
      throw new RangeError("too long for a string");
    },
  });
  for (const [body, headers] of [["{}", ""] as const, [gzipSync("{}"), "content-encoding: gzip\r\n"] as const]) {
    await using t = await setUp((socket) => rawReply(socket, "200 OK", body, headers));
    await assert.rejects(t.transport.request({ ...get, collector }), {
      name: "ConnectionError",
      message: /too long for a string/,
    });
  }
});

test("an answer that never ends is given up", { timeout: 60_000 }, async () => {
  for (const [first, rest] of [
    ["HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "x"],
    ["", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"],
  ] as const) {
    await using t = await setUp(
      (socket) => {
        socket.write(first);
        drip(socket, rest);
      },
      { requestTimeoutMs: 200 },
    );
    await assert.rejects(t.transport.request(get), { name: "ConnectionError", message: /within 0.2 s/ });
    await until(() => t.server.sockets.size === 0);
  }
});

test("closing waits for what is under way, but not for ever", { timeout: 60_000 }, async () => {
  await using t = await setUp(
    (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
      drip(socket, "x");
    },
    { ...patient, closeGraceMs: 100 },
  );
  const refused = assert.rejects(t.transport.request(get), ConnectionError);
  await until(() => t.server.sockets.size === 1);
  await t.transport.close();
  await refused;
  await until(() => t.server.sockets.size === 0);
});

test("does not show the credential that a server sends back in its refusal", async () => {
  await using t = await setUp((socket, head) => rawReply(socket, "400 Bad", head), {}, "secret-token");
  const { body } = await t.transport.request(get);
  assert.match(body.toString(), /authorization: Bearer \[redacted\]/i);
  assert.doesNotMatch(body.toString(), /secret-token/);
});

test("takes from Retry-After what makes sense, and an hour at most", () => {
  const now = Date.parse("2030-01-01T00:00:00Z");
  const seconds = (value: string) => retryAfterSeconds({ "retry-after": value }, now);
  assert.equal(seconds("7"), 7);
  assert.equal(seconds("1000000000"), 3600);
  assert.equal(seconds("9".repeat(400)), 3600);
  assert.equal(seconds("Tue, 01 Jan 2030 00:00:10 GMT"), 10);
  assert.equal(seconds("Tue, 01 Jan 2031 00:00:10 GMT"), 3600);
  assert.equal(seconds("Tue, 01 Jan 2029 00:00:10 GMT"), 0);
  for (const odd of ["", "-5", "nan", "1e9", "0x10", "Infinity"]) assert.equal(seconds(odd), undefined, odd);
});
