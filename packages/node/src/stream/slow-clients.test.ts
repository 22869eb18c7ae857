import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { WebSocket, WebSocketServer } from "ws";
import type { CommandStreams } from "./command-streams.ts";
import { acceptSpdyCommand, acceptWebSocketCommand, dialSpdy, serveCommand } from "./index.ts";

const SIZE = 20_000_000;
const wanted = { stdin: true, stdout: true, stderr: false, tty: false };

/** Serves one command over either kind of connection. */
async function serve(run: (streams: CommandStreams, signal: AbortSignal) => Promise<number>) {
  const clock = new ManualClock();
  const sockets: WebSocket[] = [];
  const webSockets = new WebSocketServer({ noServer: true, handleProtocols: (names) => [...names][0] ?? false });
  const server = createServer().listen(0, "127.0.0.1");
  server.on("upgrade", async (request, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    if (request.headers.upgrade === "websocket") {
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        sockets.push(webSocket);
        serveCommand(acceptWebSocketCommand(webSocket, wanted, clock), false, run, silentLogger);
      });
      return;
    }
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
    const connection = await acceptSpdyCommand(socket, "v4.channel.k8s.io", wanted, { clock });
    await serveCommand(connection, false, run, silentLogger);
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { clock, sockets, url: `http://127.0.0.1:${port}/`, stop };
}

const speak = async (url: string, onMessage: (data: Buffer) => void = () => {}) => {
  const socket = new WebSocket(url.replace("http", "ws"), ["v5.channel.k8s.io"]);
  socket.on("error", () => {});
  socket.on("message", onMessage);
  await once(socket, "open");
  return socket;
};

const much = async ({ stdout }: CommandStreams) => {
  stdout?.end(Buffer.alloc(SIZE));
  return 0;
};

test("over WebSocket a client that reads late gets all of the output", async () => {
  const { clock, url, stop } = await serve(much);
  let size = 0;
  let status = "";
  const socket = await speak(url, (data) => {
    if (data[0] === 1) size += data.length - 1;
    if (data[0] === 3) status += data.toString("utf8", 1);
  });
  socket.pause();
  // Long after the command has ended.
  for (let i = 0; i < 20; i++) {
    await clock.advance(2000);
    await tick();
  }
  socket.resume();
  const [code] = await once(socket, "close");
  assert.equal(size, SIZE);
  assert.match(status, /Success/);
  assert.equal(code, 1000);
  stop();
});

test("over WebSocket what a slow client has not taken when the command ends is not lost", async () => {
  let written = 0;
  const ended = Promise.withResolvers<void>();
  const { clock, sockets, url, stop } = await serve(async ({ stdout }) => {
    // Until the machine takes no more for the client, and some of it waits here.
    for (let waiting = 0; waiting < 20; ) {
      if ((sockets[0]?.bufferedAmount ?? 0) === 0) {
        waiting = 0;
        written += 100_000;
        await new Promise((resolve) => stdout?.write(Buffer.alloc(100_000), resolve));
      }
      waiting++;
      await tick();
    }
    ended.resolve();
    return 0;
  });
  let size = 0;
  const socket = await speak(url, (data) => {
    if (data[0] === 1) size += data.length - 1;
  });
  socket.pause();
  await ended.promise;
  await clock.advance(60_000);
  socket.resume();
  const [code] = await once(socket, "close");
  assert.equal(size, written);
  assert.equal(code, 1000);
  stop();
});

test("over SPDY a client that reads late gets all of the output", async () => {
  const { clock, url, stop } = await serve(much);
  const { connection } = await dialSpdy({ url, protocols: ["v4.channel.k8s.io"], action: "run a command" });
  const [error, , stdout] = ["error", "stdin", "stdout"].map((streamtype) => connection.open({ streamtype }));
  await stdout?.accepted;
  for (let i = 0; i < 20; i++) {
    await clock.advance(2000);
    await tick();
  }
  let size = 0;
  for await (const part of stdout ?? []) size += part.length;
  assert.equal(size, SIZE);
  assert.match(String((await once(error as Duplex, "data"))[0]), /Success/);
  connection.destroy();
  stop();
});

test("over WebSocket a client that vanishes while its input is not read is found out", {
  timeout: 60_000,
}, async () => {
  const gone = Promise.withResolvers<void>();
  const { clock, url, stop } = await serve(async (_streams, signal) => {
    signal.addEventListener("abort", () => gone.resolve());
    await gone.promise;
    return 0;
  });
  const socket = await speak(url);
  const chunk = Buffer.alloc(100_000);
  for (let i = 0; i < 100; i++) socket.send(chunk);
  for (let i = 0; i < 20; i++) await tick();
  socket.terminate();
  let found = false;
  gone.promise.then(() => {
    found = true;
  });
  while (!found) await clock.advance(5000);
  stop();
});
