import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { encodeControl, encodeDataHeader, frameType, numbers } from "./frames.ts";
import { HeaderDeflater } from "./header-compression.ts";
import { encodeHeaders } from "./headers.ts";
import { SpdyConnection } from "./index.ts";

const SIZE = 4_000_000;

/** Two connections over real sockets; the second one opened the stream that the first one is told of. */
async function joined(onStream: (stream: import("./index.ts").SpdyStream, socket: Socket) => void) {
  const server = createServer((socket) => {
    new SpdyConnection(socket, { role: "server", onStream: (stream) => onStream(stream, socket) });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const socket = connect(port, "127.0.0.1");
  server.unref();
  return new SpdyConnection(socket, { role: "client", announceWindows: false });
}

test("a slow reader gets the last bytes of an end that closes as soon as it has written them", async () => {
  const client = await joined((stream, socket) => {
    stream.accept();
    stream.write(Buffer.alloc(SIZE), () => socket.end());
  });
  const stream = client.open({});
  stream.end();
  let received = 0;
  await assert.rejects(
    async () => {
      for await (const piece of stream) {
        received += (piece as Buffer).length;
        for (let turns = 0; turns < 20; turns++) await setImmediate();
      }
    },
    { code: "SPDY_CONNECTION_CLOSED" },
  );
  assert.equal(received, SIZE);
  assert.equal(await client.closed, undefined);
});

test("a connection that is destroyed waits for no reader", async () => {
  const client = await joined((stream, socket) => {
    stream.accept();
    stream.write(Buffer.alloc(SIZE), () => socket.end());
  });
  const stream = client.open({});
  await stream.accepted;
  client.destroy();
  assert.equal(await client.closed, undefined);
});

test("what arrived before the connection broke is read", async () => {
  const wire = new Duplex({ read() {}, write: (_data, _encoding, done) => done() });
  const client = new SpdyConnection(wire, { role: "client", announceWindows: false });
  const stream = client.open({});
  const block = new HeaderDeflater().deflate(encodeHeaders({}));
  await setImmediate();
  wire.push(encodeControl(frameType.synReply, 0, numbers(stream.id), block));
  wire.push(encodeDataHeader(stream.id, 4, false));
  wire.push("last");
  wire.destroy(new Error("write EPIPE"));
  const received: Buffer[] = [];
  await assert.rejects(async () => {
    for await (const piece of stream) received.push(piece as Buffer);
  }, /write EPIPE/);
  assert.equal(Buffer.concat(received).toString(), "last");
  assert.match((await client.closed)?.message ?? "", /write EPIPE/);
});
