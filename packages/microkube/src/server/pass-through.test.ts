import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { test } from "node:test";
import { join } from "./pass-through.ts";

const SIZE = 8_000_000;

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("a client that reads slowly, and talks meanwhile, gets all that was said before the end", async (t) => {
  const kubelet = createServer((socket) =>
    socket
      .on("error", () => {})
      .resume()
      .end(Buffer.alloc(SIZE, 1)),
  );
  const kubeletPort = await portOf(kubelet);
  const ends: Promise<void>[] = [];
  const proxy = createServer((client) => {
    ends.push(new Promise((done) => join(client, connect(kubeletPort, "127.0.0.1"), done)));
  });
  t.after(() => [kubelet, proxy].map((server) => server.close()));
  const client = connect(await portOf(proxy), "127.0.0.1");
  let got = 0;
  client.on("data", (chunk) => {
    got += chunk.length;
    client.write("x");
    client.pause();
    setImmediate(() => client.resume());
  });
  await once(client, "close");
  assert.equal(got, SIZE);
  await Promise.all(ends);
});

test("a side that breaks takes the other with it", async (t) => {
  const kubelet = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.resetAndDestroy()));
  const kubeletPort = await portOf(kubelet);
  const proxy = createServer((client) => join(client, connect(kubeletPort, "127.0.0.1"), () => {}));
  t.after(() => [kubelet, proxy].map((server) => server.close()));
  const client = connect(await portOf(proxy), "127.0.0.1");
  client.on("error", () => {});
  client.write("x");
  await new Promise((closed) => client.on("close", closed).resume());
});
