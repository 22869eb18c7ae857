import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { forwardPort } from "./port-forward.ts";

async function pod(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, serve).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("a connection is over when the pod has said all, though the client's side never ends", async (t) => {
  const port = await pod(t, (socket) => socket.once("data", () => socket.end("x".repeat(1_000_000))));
  const [near, far] = [new PassThrough(), new PassThrough()];
  const heard = text(far);
  const over = forwardPort(["127.0.0.1"], port, Duplex.from({ readable: near, writable: far }));
  near.write("well?");
  await over;
  assert.equal((await heard).length, 1_000_000);
});

test("a client that has said all hears the answer", async (t) => {
  const port = await pod(t, (socket) => void text(socket).then((asked) => socket.end(`${asked}: yes`)));
  const [near, far] = [new PassThrough(), new PassThrough()];
  const heard = text(far);
  const over = forwardPort(["127.0.0.1"], port, Duplex.from({ readable: near, writable: far }));
  near.end("well?");
  await over;
  assert.equal(await heard, "well?: yes");
});
