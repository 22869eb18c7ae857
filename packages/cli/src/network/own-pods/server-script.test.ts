import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fetchScript } from "../trials/trial-script.ts";
import { BULK, NO_SERVER, serverScript } from "./server-script.ts";

/** A free port of one of loopback's addresses, so that tests of others do not meet. */
async function freePorts(address: string): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  const ports: number[] = [];
  for (const server of servers) {
    server.listen(0, address);
    await once(server, "listening");
    ports.push((server.address() as { port: number }).port);
  }
  for (const server of servers) server.close();
  return ports as [number, number];
}

function run(script: string, env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", script], { env }, (error) => resolve(error === null ? 0 : Number(error.code)));
  });
}

test("the server of a test gives its file whole, at its own address alone where pods are processes", async (t: TestContext) => {
  const home = mkdtempSync(join(tmpdir(), "fjord-server-"));
  const address = `127.${64 + Math.floor(Math.random() * 60)}.3.${1 + Math.floor(Math.random() * 200)}`;
  const [port, closed] = await freePorts(address);
  const script = serverScript.replaceAll("8080", String(port)).replaceAll("8081", String(closed));
  const env = { PATH: process.env.PATH, HOME: home, POD_IP: address };
  const server = spawn("/bin/sh", ["-c", script], { env, detached: true, stdio: "ignore" });
  t.after(async () => {
    // It has a child, and both are its group.
    process.kill(-(server.pid as number), "SIGKILL");
    await once(server, "exit");
    rmSync(home, { recursive: true, force: true });
  });
  const asked = async (host: string, bytes: number, at = port) =>
    run(fetchScript(host, at, { ...BULK, bytes }), { PATH: process.env.PATH });
  const until = Date.now() + 60_000;
  while ((await asked(address, BULK.bytes)) !== 0 && Date.now() < until);
  assert.equal(await asked(address, BULK.bytes), 0);
  assert.equal(await asked(address, BULK.bytes, closed), 0);
  assert.notEqual(await asked(address, BULK.bytes + 1), 0, "a file of another size is none");
  assert.notEqual(await asked("127.0.0.1", BULK.bytes), 0, "other addresses are other pods'");
});

test("an image that has nothing to serve by says so", async () => {
  const home = mkdtempSync(join(tmpdir(), "fjord-server-"));
  // Of the programs that it needs those that make the file alone.
  const only = "head() { :; }; mkdir() { :; }; busybox() { return 127; }; command() { return 1; }\n";
  const made = serverScript.replace("mkdir -p", "/bin/mkdir -p");
  assert.equal(await run(`${only}${made}`, { PATH: "/nowhere", HOME: home }), NO_SERVER);
  rmSync(home, { recursive: true, force: true });
});
