import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { type CarryLimits, carry } from "./carry.ts";
import { END_FRAME } from "./frames.ts";

const closing: (() => void)[] = [];
after(() => {
  for (const close of closing) close();
});

/** Two ends of a connection. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const near = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  for (const socket of [near, far]) socket.on("error", () => {});
  closing.push(
    () => near.destroy(),
    () => far.destroy(),
  );
  return [near, far];
}

/** Resolves when the other end has reset the connection. */
function reset(socket: Socket): Promise<void> {
  return assert.rejects(once(socket, "close"), { code: "ECONNRESET" });
}

/** A client and a server that are joined over a carrier, and what was counted at the client's side. */
async function joined() {
  const [client, near] = await pair();
  const [nearCarrier, farCarrier] = await pair();
  const [far, server] = await pair();
  const counted = { sent: 0, received: 0 };
  const ends = [
    carry(near, nearCarrier, { sent: (n) => (counted.sent += n), received: (n) => (counted.received += n) }),
    carry(far, farCarrier, { sent() {}, received() {} }),
  ];
  return { client, server, near, nearCarrier, farCarrier, counted, over: Promise.all(ends) };
}

test("an end is passed on for its direction alone, and all that came before it", async () => {
  const { client, server, counted, over } = await joined();
  client.end("question");
  const asked: Buffer[] = [];
  for await (const chunk of server) asked.push(chunk as Buffer);
  assert.equal(Buffer.concat(asked).toString(), "question");
  // The other direction is open as before.
  server.end("a long answer".repeat(10_000));
  let size = 0;
  for await (const chunk of client) size += (chunk as Buffer).length;
  assert.equal(size, 130_000);
  await over;
  assert.deepEqual(counted, { sent: 8, received: 130_000 });
});

test("whoever does not read holds back who sends, and loses nothing", async () => {
  const { client, server, nearCarrier, near } = await joined();
  server.pause();
  const total = 64 * 1024 * 1024;
  const chunk = Buffer.alloc(64 * 1024, 7);
  let written = 0;
  const fill = () => {
    while (written < total && client.write(chunk)) written += chunk.length;
  };
  // The last write that said no was taken too.
  client.on("drain", () => {
    written += chunk.length;
    fill();
  });
  fill();
  // Until nothing moves any more: what the system's buffers hold is far less than all.
  for (let before = -1; before !== near.bytesRead || near.bytesRead === 0; ) {
    before = near.bytesRead;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(near.bytesRead < total / 2, `${near.bytesRead} bytes were taken from who sends`);
  assert.ok(nearCarrier.writableLength < 1024 * 1024, `${nearCarrier.writableLength} bytes are held in memory`);
  let size = 0;
  server.on("data", (piece: Buffer) => (size += piece.length));
  server.resume();
  while (size < total) await once(server, "data");
  client.end();
  await once(server, "end");
  assert.equal(size % chunk.length, 0);
});

test("a carrier that breaks resets both ends: nobody takes it for the end of what was sent", async () => {
  const { client, server, nearCarrier, over } = await joined();
  client.write("half of it");
  await once(server, "data");
  const resets = [reset(client), reset(server)];
  nearCarrier.destroy();
  await Promise.all(resets);
  await over;
});

test("a client that goes away has the server's connection reset", async () => {
  const { client, server } = await joined();
  client.write("x");
  await once(server, "data");
  const gone = reset(server);
  client.resetAndDestroy();
  await gone;
});

test("a carrier that speaks something else ends the connection", async () => {
  const [client, near] = await pair();
  const [carrier, hostile] = await pair();
  const over = carry(near, carrier, { sent() {}, received() {} });
  const gone = reset(client);
  hostile.write(Buffer.alloc(64, 0xff));
  await gone;
  await over;
});

const QUICK: CarryLimits = { halfClosedMs: 300, heldBackMs: 300 };
const uncounted = { sent() {}, received() {} };

test("a carrier over which both directions have ended carries the next one, and all that was sent has come before", async () => {
  const [nearCarrier, farCarrier] = await pair();
  const listeners = () => ["data", "drain", "close", "end"].map((event) => nearCarrier.listenerCount(event));
  const before = listeners();
  for (const question of ["first", "second", "third"]) {
    const [client, near] = await pair();
    const [far, server] = await pair();
    const ends = [carry(near, nearCarrier, uncounted), carry(far, farCarrier, uncounted)];
    server.once("data", () => server.end("a".repeat(100_000)));
    client.end(question);
    let size = 0;
    for await (const chunk of client) size += (chunk as Buffer).length;
    assert.equal(size, 100_000);
    server.resume();
    assert.deepEqual(await Promise.all(ends), [true, true]);
    assert.deepEqual(listeners(), before, "nothing of it is left");
  }
});

test("a peer that speaks on behind the end has its carrier closed", async () => {
  const [client, near] = await pair();
  const [carrier, hostile] = await pair();
  const over = carry(near, carrier, uncounted, QUICK);
  hostile.resume().write(END_FRAME);
  hostile.write(Buffer.from([0, 0, 0, 1, 7]));
  client.resume().end();
  assert.equal(await over, false);
  assert.ok(carrier.destroyed && near.destroyed);
});

test("a client that takes nothing of what came before the end is not waited for without end", async () => {
  const [client, near] = await pair();
  const [carrier, far] = await pair();
  client.pause().end();
  far.resume();
  const big = Buffer.alloc(16 * 1024 * 1024);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(big.length);
  far.write(header);
  far.write(big);
  far.write(END_FRAME);
  assert.equal(await carry(near, carrier, uncounted, QUICK), false);
  assert.ok(carrier.destroyed && near.destroyed);
});

test("a connection of which one direction has ended, and over which nothing moves, is ended", async () => {
  const [client, near] = await pair();
  const [carrier, far] = await pair();
  far.resume();
  client.end("a question to which nobody ever answers");
  await carry(near, carrier, uncounted, QUICK);
  assert.ok(carrier.destroyed && near.destroyed);
});

test("so is one whose reader takes nothing any more", async () => {
  const [client, near] = await pair();
  const [carrier, far] = await pair();
  far.pause();
  client.on("drain", () => client.write(Buffer.alloc(1024 * 1024)));
  client.write(Buffer.alloc(16 * 1024 * 1024));
  await carry(near, carrier, uncounted, QUICK);
  assert.ok(carrier.destroyed && near.destroyed);
});

test("one that is open in both directions may be silent as long as it likes", async () => {
  const [client, near] = await pair();
  const [carrier, far] = await pair();
  let isOver = false;
  const over = carry(near, carrier, uncounted, { halfClosedMs: 5, heldBackMs: 5 }).then(() => (isOver = true));
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(isOver, false);
  far.destroy();
  client.destroy();
  await over;
});
