import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { reset } from "./reset.ts";

test("a reset reaches the peer, even past bytes that it does not read", async (t) => {
  const { socket, peer } = await pair(t);
  const ended = once(peer, "error");
  socket.write(Buffer.alloc(30_000_000));
  reset(socket);
  peer.resume();
  assert.equal(((await ended)[0] as NodeJS.ErrnoException).code, "ECONNRESET");
});

test("a socket that is ending is closed without an error", async (t) => {
  const { socket, peer } = await pair(t);
  peer.resume();
  const closed = Promise.all([once(socket, "close"), once(peer, "end")]);
  socket.end();
  reset(socket);
  await closed;
});

test("a socket that is connecting is given up", async (t) => {
  const { port } = await pair(t);
  const socket = connect(port, "127.0.0.1");
  reset(socket);
  await once(socket, "close");
});

async function pair(t: TestContext) {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, "connection");
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const [peer] = (await accepted) as [typeof socket];
  t.after(() => peer.destroy());
  return { socket, peer, port };
}
