import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ConnectionError } from "./errors.ts";
import type { HttpRequest } from "./http.ts";
import { ConnectionPool, type PoolOptions } from "./pool.ts";
import { rawReply, rawTestServer } from "./raw-test-server.ts";
import { reply, testServer, until } from "./test-server.ts";
import { Transport, type TransportOptions } from "./transport.ts";

const get: HttpRequest = { method: "GET", path: "/x", action: "get it" };
const post: HttpRequest = { method: "POST", path: "/x", action: "make it", body: "{}" };

function transportTo(server: { url: string }, options: TransportOptions = {}) {
  return new Transport({ server: server.url, namespace: "a", tls: {} }, options);
}

test("a thousand requests at once share the connections that there may be", async () => {
  await using server = await testServer((request, response) => reply(response, 200, { path: request.url }));
  await using transport = transportTo(server, { connections: 3 });
  const paths = Array.from({ length: 1000 }, (_, index) => `/${index}`);
  const answers = await Promise.all(paths.map((path) => transport.request({ ...get, path })));
  assert.deepEqual(
    answers.map(({ body }) => JSON.parse(body.toString()).path),
    paths,
  );
  assert.equal(server.sockets.length, 3);
});

/** A pool of eight, and a way to ask over it. */
function poolTo(connect: PoolOptions["connect"], options: Partial<PoolOptions> = {}) {
  const pool = new ConnectionPool({
    connect,
    host: "server",
    headers: {},
    pathPrefix: "",
    connections: 8,
    connectTimeoutMs: 5_000,
    keepAliveMs: 2_000,
    ...options,
  });
  const ask = () =>
    new Promise<void>((onEnd, onError) => {
      const handler = { onSent: () => {}, onHead: () => {}, onData: () => {}, onEnd, onError };
      const request = { method: "GET", path: "/", headers: {}, body: undefined } as const;
      pool.send({ ...request, headersTimeoutMs: 0, bodyTimeoutMs: 0 }, handler);
    });
  return { pool, ask };
}

/** Connects to a test's server. */
function dialler({ url }: { url: string }): PoolOptions["connect"] {
  const { hostname, port } = new URL(url);
  return async (signal) => {
    const socket = connect({ host: hostname, port: Number(port) });
    await once(socket, "connect", { signal });
    return socket;
  };
}

test("what a burst has opened is soon closed, but for one that the next request finds", async () => {
  const held: (() => void)[] = [];
  await using server = await testServer((_, response) => {
    held.push(() => reply(response, 200, {}));
    if (server.sockets.length === 8) for (const answer of held.splice(0)) answer();
  });
  const { pool, ask } = poolTo(dialler(server));
  const open = () => server.sockets.filter(({ destroyed }) => !destroyed).length;
  await Promise.all(Array.from({ length: 8 }, ask));
  assert.equal(open(), 8);
  await until(() => open() === 1);
  await ask();
  assert.equal(server.sockets.length, 8);
  await until(() => open() === 0);
  await pool.close();
});

test("requests whose answers come soon share few connections, however many come", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const { pool, ask } = poolTo(dialler(server), { patienceMs: 60_000 });
  const worker = async () => {
    for (let each = 0; each < 50; each++) await ask();
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  assert.ok(server.sockets.length <= 4, `${server.sockets.length} connections`);
  await pool.close();
});

test("dials two at a time, and requests that come at once take turns meanwhile", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const dial = dialler(server);
  let underWay = 0;
  let most = 0;
  const { pool, ask } = poolTo(async (signal) => {
    most = Math.max(most, ++underWay);
    try {
      return await dial(signal);
    } finally {
      underWay--;
    }
  });
  await Promise.all(Array.from({ length: 100 }, ask));
  assert.equal(most, 2);
  await pool.close();
});

test("dials no other connection for whoever has waited less long than one takes to dial", async () => {
  await using server = await testServer(async (_, response) => {
    await pause(60);
    reply(response, 200, {});
  });
  const dial = dialler(server);
  const { pool, ask } = poolTo(
    async (signal) => {
      await pause(400);
      return dial(signal);
    },
    { patienceMs: 20 },
  );
  await ask();
  await Promise.all(Array.from({ length: 4 }, ask));
  await pause(500);
  assert.equal(server.sockets.length, 1);
  await pool.close();
});

test("nobody waits for one attempt to fail after the other", async () => {
  const attempts: PromiseWithResolvers<never>[] = [];
  const { pool, ask } = poolTo(() => {
    const attempt = Promise.withResolvers<never>();
    attempts.push(attempt);
    return attempt.promise;
  });
  const asked = Array.from({ length: 11 }, () => ask().then(null, (error: Error) => error.message));
  await until(() => attempts.length === 2);
  for (const attempt of attempts) attempt.reject(new Error("nobody is there"));
  assert.deepEqual(new Set(await Promise.all(asked)), new Set(["nobody is there"]));
  assert.equal(attempts.length, 2);
  await pool.close();
});

test("whoever comes while attempts hang dials anew", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const dial = dialler(server);
  let dialled = 0;
  const { pool, ask } = poolTo((signal) => (++dialled > 2 ? dial(signal) : new Promise<never>(() => {})));
  const stuck = [ask(), ask()];
  await until(() => dialled === 2);
  await pause(1_100);
  await ask();
  await Promise.all(stuck);
  await pool.close();
});

test("an attempt that fails beside an open connection is one request's trouble", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const dial = dialler(server);
  let dialled = 0;
  const { pool, ask } = poolTo(async (signal) => {
    if (++dialled === 2) throw new Error("this one not");
    return await dial(signal);
  });
  await ask();
  const outcomes = await Promise.allSettled(Array.from({ length: 11 }, ask));
  assert.equal(outcomes.filter(({ status }) => status === "rejected").length, 1);
  await pool.close();
});

test("a write does not go over a connection that the server closed while it was idle", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  await using transport = transportTo(server);
  for (let round = 1; round <= 3; round++) {
    await transport.request(post);
    assert.equal(server.sockets.length, round);
    const socket = server.sockets.at(-1);
    socket?.end();
    if (!socket?.destroyed) await once(socket as NonNullable<typeof socket>, "close");
  }
});

test("a server that closes an idle connection just as it is used: reads are repeated, writes are told", async () => {
  await using server = await testServer((request, response) => {
    const onSameConnection = server.requests.filter(({ socket }) => socket === request.socket).length;
    if (onSameConnection > 1) request.socket.destroy();
    else reply(response, 200, {});
  });
  await using transport = transportTo(server);
  await transport.request(get);
  assert.equal((await transport.request(get)).statusCode, 200);
  assert.equal(server.sockets.length, 2);
  await assert.rejects(transport.request(post), { name: "ConnectionError", sent: true });
  assert.equal(server.requests.filter(({ method }) => method === "POST").length, 1);
});

test("bytes that come between two requests are nobody's answer", async () => {
  const heads: string[] = [];
  await using server = await rawTestServer((socket, head) => {
    heads.push(head);
    rawReply(socket, "200 OK", heads.length === 1 ? "first" : "second");
    if (heads.length === 1) setImmediate(() => rawReply(socket, "200 OK", "forged"));
  });
  await using transport = transportTo(server);
  assert.equal((await transport.request(get)).body.toString(), "first");
  await until(() => server.sockets.size === 0);
  assert.equal((await transport.request(get)).body.toString(), "second");
});

test("a request that is given up while it waits for a connection is never sent", async () => {
  let finish = () => {};
  await using server = await testServer((request, response) => {
    if (request.url === "/slow") finish = () => reply(response, 200, {});
    else reply(response, 200, {});
  });
  await using transport = transportTo(server, { connections: 1 });
  const slow = transport.request({ ...get, path: "/slow" });
  await until(() => server.requests.length === 1);
  const stop = new AbortController();
  const given = transport.request({ ...post, signal: stop.signal });
  const kept = transport.request(get);
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort(new Error("enough"));
  await assert.rejects(given, /enough/);
  finish();
  await slow;
  await kept;
  assert.deepEqual(
    server.requests.map(({ method }) => method),
    ["GET", "GET"],
  );
});

test("what cannot be sent harms neither its connection nor anybody else", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  await using transport = transportTo(server, { connections: 1 });
  await transport.request(get);
  await assert.rejects(transport.request({ ...post, headers: { "x-y": "a\r\nb: c" } }), (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.sent, false);
    return true;
  });
  await transport.request(get);
  assert.equal(server.sockets.length, 1);
});

test("gives up on a server that takes connections and never says a word of TLS", async () => {
  await using server = await rawTestServer(() => {});
  const url = server.url.replace("http:", "https:");
  await using transport = transportTo({ url }, { connectTimeoutMs: 50 });
  await assert.rejects(transport.request(post), { name: "ConnectionError", message: /Timeout/, sent: false });
  await until(() => server.sockets.size === 0);
});

const LARGE = 64 * 1024 ** 2;

test("a stream that nobody reads holds its server back", async () => {
  const piece = Buffer.alloc(64 * 1024);
  let written = 0;
  await using server = await testServer((_, response) => {
    response.writeHead(200);
    const more = () => {
      do written += piece.length;
      while (response.write(piece) && written < LARGE);
    };
    response.on("drain", more);
    more();
  });
  await using transport = transportTo(server);
  const { stream } = await transport.stream(get);
  let before = -1;
  while (written !== before) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(written < LARGE / 2, `${written} bytes went out`);
  let read = 0;
  for await (const chunk of stream ?? []) {
    read += chunk.length;
    if (read > LARGE / 2) break;
  }
  assert.ok(written > before);
});
