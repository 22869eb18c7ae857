import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, request } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { joinUpgrade } from "./upgrade.ts";

test("an API server that closes as soon as it has said all ends the consumer's connection, once that has heard it", async (t) => {
  const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
  const said = "x".repeat(1_000_000);
  // Not half open, as the API server is: it is gone before the consumer has taken what it said.
  const api = createServer((socket) => socket.once("data", () => socket.end(switching + said)));
  const joined = Promise.withResolvers<Duplex>();
  const proxy = createHttpServer().on("upgrade", (asked, socket, head) => {
    joined.resolve(socket);
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const upstream = request({ port: portOf(api), host: "127.0.0.1", path: asked.url, headers });
    upstream.end();
    void joinUpgrade(upstream, socket, head);
  });
  for (const server of [api, proxy]) {
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
  }
  const consumer = connect({ port: portOf(proxy), host: "127.0.0.1", allowHalfOpen: true });
  t.after(() => consumer.destroy());
  consumer.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n");
  const heard = await text(consumer);
  assert.ok(heard.endsWith(said), `${heard.length}`);
  await sleep(50);
  const closed = once(await joined.promise, "close").then(() => "closed");
  consumer.end("goodbye");
  assert.equal(await Promise.race([closed, sleep(2_000, "open")]), "closed");
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
