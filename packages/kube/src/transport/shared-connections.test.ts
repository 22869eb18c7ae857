import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import {
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { Authority } from "@fjord/testbed";
import type { ClusterConfig } from "../config/cluster-config.ts";
import type { ByteStream } from "./byte-stream.ts";
import { clusterConnect } from "./dial.ts";
import type { StreamRequest } from "./http.ts";
import { SharedConnections } from "./shared-connections.ts";
import { testServer, until } from "./test-server.ts";
import { Transport } from "./transport.ts";

const watch = (path: string, more: Partial<StreamRequest> = {}): StreamRequest => ({
  method: "GET",
  path,
  action: `watch ${path}`,
  ...more,
});
let directory: string;
let authority: Authority;
let pair: { cert: string; key: string };

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "fjord-shared-"));
  authority = await Authority.create(directory, "test authority", Date.now());
  const { certificate: cert, key } = await authority.issue({ commonName: "api", addresses: ["127.0.0.1"] }, Date.now());
  pair = { cert, key };
});

after(() => rm(directory, { recursive: true }));

class WatchServer implements AsyncDisposable {
  readonly server: Http2SecureServer;
  readonly sessions: ServerHttp2Session[] = [];
  readonly sockets: TLSSocket[] = [];
  /** Streams that were asked for, by path. */
  readonly streams = new Map<string, ServerHttp2Stream>();

  constructor(options: SecureServerOptions = {}) {
    this.server = createSecureServer({ ...pair, allowHTTP1: true, ...options });
    this.server.on("secureConnection", (socket) => this.sockets.push(socket));
    this.server.on("session", (session) => {
      this.sessions.push(session);
      session.on("error", () => {});
    });
    this.server.on("stream", (stream, { ":path": path = "" }) => {
      stream.on("error", () => {});
      this.streams.set(path, stream);
      if (path === "/refused") {
        stream.respond({ ":status": 403 });
        stream.end("not you");
      } else if (path !== "/silent") {
        stream.respond({ ":status": 200, "content-type": "application/json" });
        stream.write(`first of ${path}`);
      }
    });
  }

  async transport(): Promise<Transport> {
    return new Transport(configOf(await this.listen()), { shareWatches: true });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return (this.server.address() as AddressInfo).port;
  }

  at(path: string): ServerHttp2Stream {
    const stream = this.streams.get(path);
    assert.ok(stream, `nobody asked for ${path}`);
    return stream;
  }

  get open(): number {
    return this.sessions.filter(({ destroyed }) => !destroyed).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function configOf(port: number): ClusterConfig {
  return { server: `https://127.0.0.1:${port}`, namespace: "default", tls: { ca: authority.certificate } };
}

async function open(transport: Transport, path: string): Promise<ByteStream> {
  const { stream } = await transport.stream(watch(path));
  assert.ok(stream);
  assert.equal(await nextOf(stream), `first of ${path}`);
  return stream;
}

async function nextOf(stream: ByteStream): Promise<string | undefined> {
  const { value } = await stream.next();
  return value?.toString();
}

function paths(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/watch/${index}`);
}

/** A request, the first of its answer, and why it failed. */
function heard(shared: SharedConnections, path: string) {
  let failure: Error | undefined;
  const first = Promise.withResolvers<string>();
  const handler = {
    onSent() {},
    onHead() {},
    onData: (chunk: Buffer) => first.resolve(chunk.toString()),
    onEnd: () => first.reject(new Error("it has ended")),
    onError: (error: Error) => {
      failure = error;
      first.reject(error);
    },
  };
  const request = {
    method: "GET",
    path,
    headers: {},
    body: undefined,
    headersTimeoutMs: 0,
    bodyTimeoutMs: 0,
  } as const;
  const turn = shared.send(request, handler);
  return { first: first.promise, failure: () => failure, turn };
}

test("many watches that begin at once share one connection, and it ends with the last of them", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const streams = await Promise.all(paths(40).map((path) => open(transport, path)));
  assert.equal(server.sessions.length, 1);
  for (const stream of streams.slice(1)) await stream.return();
  await until(() => server.at("/watch/39").destroyed);
  server.at("/watch/0").write("second");
  assert.equal(await nextOf(streams[0] as ByteStream), "second");
  await streams[0]?.return();
  await until(() => server.open === 0);
});

test("a reader that is slow holds up nobody else, and the server is held back", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const slow = await open(transport, "/slow");
  const quick = await open(transport, "/quick");
  const chunk = Buffer.alloc(64 * 1024, "x");
  let written = 0;
  let isFull = false;
  while (!isFull) {
    isFull = !server.at("/slow").write(chunk);
    written += chunk.length;
    if (isFull) {
      const drained = new Promise<boolean>((resolve) => {
        server.at("/slow").once("drain", () => resolve(true));
        setTimeout(resolve, 300, false);
      });
      isFull = !(await drained);
    }
    assert.ok(written < 64 * chunk.length * 4, "a server is never held back");
  }
  server.at("/quick").write("at once");
  assert.equal(await nextOf(quick), "at once");
  let read = 0;
  while (read < written) read += (await slow.next()).value?.length ?? Number.NaN;
  assert.equal(read, written);
});

test("as many share a connection as the server takes", async () => {
  await using server = new WatchServer({ settings: { maxConcurrentStreams: 2 } });
  await using transport = await server.transport();
  await Promise.all(paths(5).map((path) => open(transport, path)));
  assert.equal(server.sessions.length, 3);
});

test("a server that wants no more on a connection gets the next watch on another, and those before go on", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const before = await open(transport, "/before");
  server.sessions[0]?.goaway(0, 2 ** 31 - 1);
  // Until the client has heard it, the server refuses.
  let after: ByteStream | undefined;
  while (after === undefined) after = await open(transport, "/after").catch(() => undefined);
  assert.equal(server.sessions.length, 2);
  server.at("/before").end("last");
  assert.deepEqual([await nextOf(before), (await before.next()).done], ["last", true]);
});

test("a connection that breaks fails all of its watches, and the next has another", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const streams = await Promise.all(paths(3).map((path) => open(transport, path)));
  for (const socket of server.sockets) socket.destroy();
  for (const stream of streams) await assert.rejects(stream.next(), { name: "ConnectionError" });
  await open(transport, "/again");
  assert.equal(server.sessions.length, 2);
});

test("a connection over which nothing passes any more fails its watches, and the next has another", async () => {
  await using server = new WatchServer();
  const port = await server.listen();
  const passing: Socket[] = [];
  const relay = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const socket of [near, far]) passing.push(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const shared = new SharedConnections({
    connect: clusterConnect(configOf((relay.address() as AddressInfo).port), undefined),
    host: "api",
    connectTimeoutMs: 10_000,
    alone: () => assert.fail("the server speaks HTTP/2"),
    pings: { everyMs: 20, answerMs: 200 },
  });
  const before = heard(shared, "/before");
  assert.equal(await before.first, "first of /before");
  for (const socket of passing) socket.unpipe().pause();
  await until(() => before.failure() !== undefined);
  assert.match(before.failure()?.message ?? "", /not answered a ping within 0.2 s/);
  const after = heard(shared, "/after");
  assert.equal(await after.first, "first of /after");
  after.turn.abort();
  for (const socket of passing) socket.destroy();
  relay.close();
});

test("a connection that the server leaves twice, over which nothing can be asked any more, is ended", async () => {
  await using server = new WatchServer();
  const shared = new SharedConnections({
    connect: clusterConnect(configOf(await server.listen()), undefined),
    host: "api",
    connectTimeoutMs: 10_000,
    alone: () => assert.fail("the server speaks HTTP/2"),
    pings: { everyMs: 20, answerMs: 200 },
  });
  const before = heard(shared, "/before");
  assert.equal(await before.first, "first of /before");
  for (const _ of "12") server.sessions[0]?.goaway(0, 1);
  await until(() => before.failure() !== undefined);
  assert.match(before.failure()?.message ?? "", /not answered a ping within 0.2 s/);
  await until(() => server.open === 0);
});

test("an answer that is cut is no answer's end", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const [whole, cut] = [await open(transport, "/whole"), await open(transport, "/cut")];
  server.at("/cut").destroy(new Error("broken"));
  await assert.rejects(cut.next(), { name: "ConnectionError", message: /INTERNAL_ERROR/ });
  server.at("/whole").end();
  assert.equal((await whole.next()).done, true);
});

test("a refusal is told in the server's words", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const { statusCode, body, stream } = await transport.stream(watch("/refused"));
  assert.deepEqual([statusCode, body.toString(), stream], [403, "not you", undefined]);
});

test("an answer that does not begin in time fails, and the others on the connection do not", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const other = await open(transport, "/other");
  await assert.rejects(transport.stream(watch("/silent", { headersTimeoutMs: 50 })), /did not begin within/);
  await until(() => server.at("/silent").destroyed);
  server.at("/other").write("still there");
  assert.equal(await nextOf(other), "still there");
});

test("closing fails a watch whose answer has not begun, and leaves no connection behind", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const silent = transport.stream(watch("/silent"));
  const told = assert.rejects(silent, { name: "ConnectionError" });
  await until(() => server.streams.has("/silent"));
  await transport.close();
  await told;
  await until(() => server.open === 0);
});

test("whoever leaves before there is a connection leaves none behind", async () => {
  await using server = new WatchServer();
  await using transport = await server.transport();
  const leaving = new AbortController();
  const asked = paths(3).map((path) => transport.stream(watch(path, { signal: leaving.signal })));
  leaving.abort(new Error("changed my mind"));
  for (const each of asked) await assert.rejects(each, /changed my mind/);
  const stream = await open(transport, "/after");
  await stream.return();
  await until(() => server.open === 0);
});

test("where the server knows HTTP/1.1 alone, each watch has a connection, none of them wasted", async () => {
  await using server = await testServer((_, response) => {
    response.writeHead(200);
    response.write("first");
  }, pair);
  const tls = { ca: authority.certificate };
  const config = { server: server.url, namespace: "default", tls };
  await using transport = new Transport(config, { shareWatches: true });
  const streams = await Promise.all(paths(6).map((path) => transport.stream(watch(path))));
  for (const { stream } of streams) assert.equal((await stream?.next())?.value?.toString(), "first");
  assert.equal(server.sockets.length, 6);
});

test("where the server knows HTTP/1.1 alone, a watch goes over the connection that its list has used", async () => {
  await using server = await testServer((request, response) => {
    if (request.url?.startsWith("/watch")) response.writeHead(200).write("first");
    else response.end("{}");
  }, pair);
  const config = { server: server.url, namespace: "default", tls: { ca: authority.certificate } };
  await using transport = new Transport(config, { shareWatches: true });
  const [first] = paths(1) as [string];
  await transport.stream(watch(first));
  await transport.request({ method: "GET", path: "/list", action: "list" });
  assert.equal(server.sockets.length, 2);
  await transport.stream(watch(first));
  assert.equal(server.sockets.length, 2);
});

test("whoever gives connections is told which protocols will do, and for requests none is named", async () => {
  await using server = new WatchServer();
  const dial = clusterConnect(configOf(await server.listen()), undefined);
  const asked: (readonly string[] | undefined)[] = [];
  await using transport = new Transport(configOf(1), {
    shareWatches: true,
    connect: (signal, protocols) => {
      asked.push(protocols);
      return dial(signal, protocols);
    },
  });
  await Promise.all(paths(3).map((path) => open(transport, path)));
  assert.deepEqual(asked, [["h2", "http/1.1"]]);
});

test("a server that takes no request at all is told from one that is slow, and no connection is left", async () => {
  await using server = new WatchServer({ settings: { maxConcurrentStreams: 0 } });
  await using transport = await server.transport();
  await assert.rejects(transport.stream(watch("/watch")), /takes connections, and no requests over them/);
  assert.equal(server.sessions.length, 1);
  await until(() => server.open === 0);
});

test("a server that wants no requests as soon as a connection is there is not dialled for ever, and leaves none open", async () => {
  await using server = new WatchServer();
  server.server.on("session", (session) => session.goaway(0));
  const dial = clusterConnect(configOf(await server.listen()), undefined);
  const dialled: Duplex[] = [];
  await using transport = new Transport(configOf(1), {
    shareWatches: true,
    connect: async (signal, protocols) => {
      const connection = await dial(signal, protocols);
      dialled.push(connection);
      return connection;
    },
  });
  await assert.rejects(transport.stream(watch("/watch")), { name: "ConnectionError" });
  assert.ok(dialled.length <= 16, `${dialled.length} connections`);
  await until(() => dialled.every(({ destroyed }) => destroyed));
});
