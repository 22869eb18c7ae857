import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial } from "node:net";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { ManualClock } from "@fjord/base/testing";
import fc from "fast-check";
import { encodeControl, encodeDataHeader, frameType, numbers } from "./frames.ts";
import { HeaderDeflater } from "./header-compression.ts";
import { encodeHeaders } from "./headers.ts";
import { SpdyConnection } from "./spdy-connection.ts";
import type { SpdyOptions } from "./spdy-options.ts";
import type { SpdyStream } from "./spdy-stream.ts";
import { choppedPair } from "./test-wire.ts";

function pair(onStream: (stream: SpdyStream) => void, options: Partial<SpdyOptions> = {}, sizes: number[] = []) {
  const [a, b] = choppedPair(sizes);
  const client = new SpdyConnection(a, { role: "client", ...options });
  const server = new SpdyConnection(b, { role: "server", onStream, ...options });
  return { client, server };
}

const echo = (stream: SpdyStream) => {
  stream.accept();
  stream.pipe(stream);
};

test("streams carry bytes both ways, however the connection cuts them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 6 }), { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 5 }),
      async (contents, sizes) => {
        const { client, server } = pair(echo, { limits: { window: 1000 } }, sizes);
        const answers = contents.map(async (chunks, index) => {
          const stream = client.open({ index: String(index) });
          const answer = buffer(stream);
          for (const chunk of chunks) stream.write(chunk);
          stream.end();
          return await answer;
        });
        const expected = contents.map((chunks) => Buffer.concat(chunks));
        assert.deepEqual(await Promise.all(answers), expected);
        assert.equal(client.streams.length, 0);
        await Promise.all([client.close(), server.closed]);
        assert.equal(server.streams.length, 0);
      },
    ),
    { numRuns: 40 },
  );
});

test("the server sees the headers in lower case, and nothing is sent before it has accepted the stream", async () => {
  const { promise, resolve } = Promise.withResolvers<SpdyStream>();
  const { client } = pair(resolve);
  const stream = client.open({ StreamType: "stdin" });
  stream.write("early");
  const accepted = await promise;
  assert.equal(accepted.headers.streamtype, "stdin");
  await tick();
  assert.equal(accepted.readableLength, 0);
  accepted.accept();
  await stream.accepted;
  assert.equal(String((await once(accepted, "data"))[0]), "early");
  client.destroy();
});

test("a stream that is refused fails, and the others go on", async () => {
  const { client } = pair((stream) => (stream.headers.bad ? stream.refuse() : echo(stream)));
  const bad = client.open({ bad: "1" });
  const good = client.open({});
  await assert.rejects(bad.accepted, { code: "SPDY_STREAM_RESET" });
  good.end("still here");
  assert.equal(String(await buffer(good)), "still here");
  client.destroy();
});

test("what arrived before the other end gave a stream up is read before the failure", async () => {
  const { client } = pair((stream) => {
    stream.accept();
    stream.write("last words", () => stream.destroy());
  });
  const stream = client.open({});
  const other = client.open({}).resume();
  await new Promise((resolve) => other.once("close", resolve));
  const parts: Buffer[] = [];
  stream.on("data", (part) => parts.push(part));
  const [error] = await once(stream, "error");
  assert.equal(Buffer.concat(parts).toString(), "last words");
  assert.equal(error.code, "SPDY_STREAM_RESET");
  client.destroy();
});

test("half-closed, a stream still receives", async () => {
  const { client } = pair(async (stream) => {
    stream.accept();
    const question = String(await buffer(stream));
    stream.end(`answer to ${question}`);
  });
  const stream = client.open({});
  stream.end("this");
  assert.equal(String(await buffer(stream)), "answer to this");
  client.destroy();
});

test("a receiver that does not read stops the sender at the window, and lets it go on", async () => {
  const { promise, resolve } = Promise.withResolvers<SpdyStream>();
  const { client } = pair(
    (stream) => {
      stream.accept();
      resolve(stream);
    },
    { limits: { window: 10_000 } },
  );
  const stream = client.open({});
  let written = false;
  stream.end(Buffer.alloc(1_000_000, "x"), () => {
    written = true;
  });
  const received = await promise;
  for (let i = 0; i < 200; i++) await tick();
  assert.equal(written, false);
  assert.ok(!received.isOverfull);
  assert.equal((await buffer(received)).length, 1_000_000);
  client.destroy();
});

test("a peer that knows nothing of windows is stopped by its connection", async () => {
  const { socket, server, streams } = await bare({ limits: { window: 10_000 } });
  socket.write(synStream(1));
  const stream = await streams.next();
  const chunk = Buffer.concat([encodeDataHeader(1, 100_000, false), Buffer.alloc(100_000)]);
  for (let i = 0; i < 300; i++) socket.write(chunk);
  socket.write(encodeDataHeader(1, 0, true));
  await once(stream, "readable");
  for (let i = 0; i < 200; i++) await tick();
  assert.ok(socket.writableLength > 1_000_000, "the sender is stopped");
  assert.equal((await buffer(stream)).length, 30_000_000);
  server.destroy();
});

test("a peer that vanishes fails its streams", async () => {
  const { socket, server, streams } = await bare();
  socket.write(synStream(1));
  const stream = await streams.next();
  stream.resume();
  socket.destroy();
  const [error] = await once(stream, "error");
  assert.equal(error.code, "SPDY_CONNECTION_CLOSED");
  await server.closed;
});

test("a peer that vanishes while it is not read is found out", { timeout: 60_000 }, async () => {
  const clock = new ManualClock();
  const { socket, server, streams } = await bare({ clock, limits: { window: 1000 } });
  socket.write(Buffer.concat([synStream(1), encodeDataHeader(1, 3_000_000, false), Buffer.alloc(3_000_000)]));
  await streams.next();
  for (let i = 0; i < 50; i++) await tick();
  socket.resetAndDestroy();
  let gone = false;
  server.closed.then(() => {
    gone = true;
  });
  while (!gone) {
    await clock.advance(5000);
  }
});

test("a connection on which nothing happens is cut after its time", async () => {
  const clock = new ManualClock();
  const { server } = await bare({ clock, idleTimeoutMs: 60_000 });
  await clock.advance(59_000);
  await clock.advance(1000);
  const error = await server.closed;
  assert.match(String(error), /60000 ms/);
});

test("pings are answered, and answers are not", async () => {
  const { socket, server } = await bare();
  const answers = collect(socket);
  socket.write(encodeControl(frameType.ping, 0, numbers(7)));
  socket.write(encodeControl(frameType.ping, 0, numbers(8)));
  socket.write(encodeControl(frameType.ping, 0, numbers(9)));
  const expected = Buffer.concat([7, 9].map((id) => encodeControl(frameType.ping, 0, numbers(id))));
  while (!answers().includes(expected)) await tick();
  server.destroy();
});

test("streams beyond the limit are refused, and room is made by those that end", async () => {
  const { client } = pair(echo, { limits: { streams: 2 } });
  const streams = [client.open({}), client.open({}), client.open({})];
  const outcomes = await Promise.allSettled(streams.map((stream) => stream.accepted));
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ["fulfilled", "fulfilled", "rejected"],
  );
  streams[0]?.end();
  await buffer(streams[0] as SpdyStream);
  await client.open({}).accepted;
  client.destroy();
});

for (const [what, bytes] of [
  ["a giant control frame", Buffer.from("8003000100ffffff", "hex")],
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
  ["another version", Buffer.from("8002000100000000", "hex")],
  ["data for a stream that was never opened", encodeDataHeader(5, 0, false)],
  ["a stream with the server's own parity", synStream(2)],
  ["the same stream twice", Buffer.concat([synStream(1), synStream(1)])],
  [
    "headers that are no zlib",
    encodeControl(frameType.synStream, 0, numbers(1, 0), Buffer.alloc(2), Buffer.from("rubbish")),
  ],
  ["a stream without headers", encodeControl(frameType.synStream, 0, numbers(1))],
  ["a window beyond all bounds", encodeControl(frameType.settings, 0, numbers(1, 7, 0xffffffff))],
] as const) {
  test(`${what} ends the connection with a goodbye`, async () => {
    const { socket, server } = await bare();
    const sent = collect(socket);
    socket.write(bytes);
    const error = await server.closed;
    assert.equal((error as { code?: string }).code, "SPDY_PROTOCOL");
    await once(socket, "close");
    assert.ok(sent().includes(Buffer.from("80030007000000080000000", "hex")));
  });
}

test("any bytes at all end in an error or in silence", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }),
      fc.boolean(),
      async (chunks, valid) => {
        const [a, b] = choppedPair();
        const server = new SpdyConnection(b, { role: "server", onStream: echo });
        a.resume();
        if (valid) a.write(synStream(1));
        for (const chunk of chunks) {
          if (!a.writable) break;
          if (valid)
            a.write(Buffer.concat([Buffer.from([0x80, 3, 0, (chunk[0] ?? 0) % 12, 0, 0, 0, chunk.length]), chunk]));
          else a.write(chunk);
        }
        a.end();
        await server.closed;
        assert.equal(server.streams.length, 0);
      },
    ),
    { numRuns: 200 },
  );
});

test("closing says goodbye after all that was written", async () => {
  const { client, server } = pair((stream) => {
    stream.accept();
    stream.resume();
    stream.end("done", () => server.close());
  });
  const stream = client.open({});
  stream.end();
  assert.equal(String(await buffer(stream)), "done");
  assert.equal(await client.closed, undefined);
  assert.equal(await server.closed, undefined);
  assert.throws(() => client.open({}), { code: "SPDY_CONNECTION_CLOSED" });
});

function synStream(id: number): Buffer {
  const block = new HeaderDeflater().deflate(encodeHeaders({ a: "b" }));
  return encodeControl(frameType.synStream, 0, numbers(id, 0), Buffer.alloc(2), block);
}

function collect(socket: Duplex): () => Buffer {
  const parts: Buffer[] = [];
  socket.on("data", (part) => parts.push(part));
  return () => Buffer.concat(parts);
}

/** A server on one end of a real connection, and nothing but a socket on the other. */
async function bare(options: Partial<SpdyOptions> = {}) {
  const listener = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const socket = dial((listener.address() as AddressInfo).port, "127.0.0.1");
  const [peer] = await once(listener, "connection");
  listener.close();
  const waiting: SpdyStream[] = [];
  const server = new SpdyConnection(peer, {
    role: "server",
    onStream(stream) {
      stream.accept();
      waiting.push(stream);
    },
    ...options,
  });
  const streams = {
    async next(): Promise<SpdyStream> {
      while (waiting.length === 0) await tick();
      return waiting.shift() as SpdyStream;
    },
  };
  return { socket, server, streams };
}
