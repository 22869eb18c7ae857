import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "@fjord/base";
import { GrpcClient } from "./grpc-client.ts";
import { FrameReader, frame } from "./grpc-frames.ts";

type Handler = (stream: ServerHttp2Stream, message: Buffer, headers: Record<string, unknown>) => void;

/** A gRPC server on a socket of its own, that answers as the test says. */
class Server {
  readonly socket: string;
  readonly sessions = new Set<ServerHttp2Session>();
  connections = 0;
  handler: Handler;
  #server: Http2Server | undefined;

  constructor(socket: string, handler: Handler) {
    this.socket = socket;
    this.handler = handler;
  }

  async start(): Promise<void> {
    await rm(this.socket, { force: true });
    const server = createServer();
    server.on("session", (session) => {
      this.connections++;
      this.sessions.add(session);
      session.on("error", () => {});
      session.once("close", () => this.sessions.delete(session));
    });
    server.on("stream", (stream, headers) => {
      const reader = new FrameReader(1e8);
      stream.on("error", () => {});
      stream.on("data", (piece: Buffer) => {
        for (const message of reader.push(piece)) this.handler(stream, message, headers);
      });
    });
    await new Promise<void>((resolve) => server.listen(this.socket, resolve));
    this.#server = server;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const session of this.sessions) session.destroy();
    await closed;
  }
}

const answer = (stream: ServerHttp2Stream, messages: readonly Uint8Array[], trailers: Record<string, string>) => {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  for (const message of messages) stream.write(frame(message));
  stream.end();
};

const echo: Handler = (stream, message) => answer(stream, [message], { "grpc-status": "0" });

async function serving(t: TestContext, handler: Handler): Promise<{ server: Server; client: GrpcClient }> {
  const directory = await mkdtemp(join(tmpdir(), "grpc-"));
  const server = new Server(join(directory, "s"), handler);
  await server.start();
  const client = new GrpcClient({ socket: server.socket, clock: systemClock });
  t.after(async () => {
    client.close();
    await server.stop();
    await rm(directory, { recursive: true });
  });
  return { server, client };
}

test("a call brings its answer, and many share one connection", async (t) => {
  const { server, client } = await serving(t, echo);
  const calls = Array.from({ length: 50 }, (_, i) => client.unary("/a.B/C", Buffer.from(`call ${i}`)));
  const answers = (await Promise.all(calls)).map(String);
  assert.deepEqual(
    answers,
    Array.from({ length: 50 }, (_, i) => `call ${i}`),
  );
  assert.equal(server.connections, 1);
});

test("large messages pass both ways", async (t) => {
  const { client } = await serving(t, echo);
  const large = Buffer.alloc(8_000_000, "x");
  assert.ok(large.equals(await client.unary("/a.B/C", large)));
});

test("a refusal has its number and words, early or late", async (t) => {
  const { server, client } = await serving(t, (stream) =>
    answer(stream, [], { "grpc-status": "5", "grpc-message": "no such%0Athing" }),
  );
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0)), { status: 5, message: "no such\nthing" });
  server.handler = (stream) =>
    stream.respond({ ":status": 200, "grpc-status": "12", "grpc-message": "unknown" }, { endStream: true });
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0)), { status: 12, message: "unknown" });
});

test("what is no gRPC is told", async (t) => {
  const { server, client } = await serving(t, (stream) => stream.respond({ ":status": 404 }, { endStream: true }));
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0)), { status: 2, message: /404/ });
  server.handler = (stream) => answer(stream, [], { "grpc-status": "0" });
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0)), { status: 13 });
});

test("a deadline is told to the server, and kept without it", async (t) => {
  let told: unknown;
  let given = false;
  const { client } = await serving(t, (stream, _message, headers) => {
    told = headers["grpc-timeout"];
    stream.once("close", () => {
      given = true;
    });
  });
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0), { timeout: 80 }), { status: 4, message: /0\.08 s/ });
  assert.equal(told, "80m");
  while (!given) await new Promise((resolve) => setImmediate(resolve));
});

test("an abort ends a call with its reason, before and during it", async (t) => {
  const stop = new AbortController();
  const { client } = await serving(t, () => stop.abort(new Error("enough")));
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0), { signal: stop.signal }), { message: "enough" });
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0), { signal: stop.signal }), { message: "enough" });
});

test("messages of a stream come as they are sent", async (t) => {
  const first = Promise.withResolvers<void>();
  const { client } = await serving(t, (stream) => {
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.write(frame(Buffer.from("one")));
    first.promise.then(() => stream.end(frame(Buffer.from("two"))));
  });
  const seen: string[] = [];
  await client.stream("/a.B/C", Buffer.alloc(0), (message) => {
    seen.push(String(message));
    first.resolve();
  });
  assert.deepEqual(seen, ["one", "two"]);
});

test("calls under way fail when the server goes, and the next ones reach its successor", async (t) => {
  const { server, client } = await serving(t, () => {
    for (const session of server.sessions) session.destroy();
  });
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0)), { status: 14 });
  await server.stop();
  await assert.rejects(client.unary("/a.B/C", Buffer.alloc(0)), { status: 14 });
  server.handler = echo;
  await server.start();
  assert.equal(String(await client.unary("/a.B/C", Buffer.from("again"))), "again");
});

test("a server that says goodbye gets no new calls, and finishes the old ones", async (t) => {
  const { server, client } = await serving(t, (stream, message) => {
    stream.session?.goaway();
    answer(stream, [message], { "grpc-status": "0" });
  });
  assert.equal(String(await client.unary("/a.B/C", Buffer.from("one"))), "one");
  assert.equal(String(await client.unary("/a.B/C", Buffer.from("two"))), "two");
  assert.equal(server.connections, 2);
});
