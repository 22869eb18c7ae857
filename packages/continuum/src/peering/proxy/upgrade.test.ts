import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { joinUpgrade } from "./upgrade.ts";

test("what the API server sent before it closed still reaches a consumer that reads slowly", async () => {
  const bytes = 8 * 1024 * 1024;
  const upstream = createServer().on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n");
    socket.end(Buffer.alloc(bytes));
  });
  const border = createNetServer((socket) => {
    const { port } = upstream.address() as AddressInfo;
    const ask = request({ port, headers: { connection: "Upgrade", upgrade: "x" } });
    void joinUpgrade(ask, socket, Buffer.alloc(0));
    ask.end();
  });
  for (const server of [upstream, border]) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  try {
    const consumer: Socket = connect((border.address() as AddressInfo).port, "127.0.0.1");
    let got = 0;
    consumer.on("data", (chunk: Buffer) => {
      got += chunk.length;
      if (got < bytes / 2) return;
      // The API server has long closed when the rest is read.
      consumer.pause();
      void pause(50).then(() => consumer.resume());
    });
    await once(consumer, "end");
    assert.ok(got > bytes, `${got} of ${bytes} bytes and a head`);
    consumer.destroy();
  } finally {
    upstream.close();
    border.close();
  }
});
