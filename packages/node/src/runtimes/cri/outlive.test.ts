import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

let folder: string;
let server: Server;
let child: ChildProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "fjord-outlive-"));
  server = createServer().listen(join(folder, "socket"));
  await once(server, "listening");
});

afterEach(() => {
  child?.kill("SIGKILL");
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A program whose connection outlives it for so long; it does what it is told to after a word has come back. */
async function connect(seconds: number, then: string): Promise<Socket> {
  const program = `
import { createConnection } from "node:net";
import { outlive } from "./outlive.ts";
const socket = createConnection("${join(folder, "socket")}", () => {
  const release = outlive(socket, ${seconds});
  socket.write("hello");
  socket.once("data", () => { ${then} });
});`;
  child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [socket] = (await once(server, "connection")) as [Socket];
  const [word] = (await once(socket, "data")) as [Buffer];
  assert.equal(word.toString(), "hello");
  return socket;
}

/** When nobody has the other end any more, whether or not that had read everything. */
function closed(socket: Socket): Promise<unknown> {
  socket.on("error", () => {});
  return new Promise((resolve) => socket.once("close", resolve));
}

test("a connection outlives whoever is killed, for so long", async () => {
  const socket = await connect(1, "process.kill(process.pid, 'SIGKILL')");
  const ended = closed(socket);
  const exited = child && once(child, "exit");
  socket.write("die");
  await exited;
  const before = performance.now();
  socket.resume();
  await ended;
  assert.ok(performance.now() - before > 500, "it was still there");
});

test("a connection ends with its process where that lets it go", async () => {
  const socket = await connect(1000, "release(); socket.destroy();");
  const ended = closed(socket);
  socket.resume();
  socket.write("go");
  await ended;
});

test("whoever has nothing else to do ends, and what was shared with it", async () => {
  const socket = await connect(1, "socket.destroy();");
  const ended = closed(socket);
  socket.resume();
  const exited = child && once(child, "exit");
  socket.write("go");
  assert.equal((await exited)?.[0], 0);
  await ended;
});
