import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removeDeadSockets } from "./dead-sockets.ts";

test("a socket goes that a killed process has left, and no other", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fjord-sockets-"));
  const server = createServer();
  try {
    await once(server.listen(join(folder, "live.sock")), "listening");
    await writeFile(join(folder, "notes"), "");
    const script = `require("node:net").createServer().listen(${JSON.stringify(join(folder, "dead.sock"))}, () => console.log("ready"))`;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    await removeDeadSockets(folder);
    assert.deepEqual((await readdir(folder)).sort(), ["dead.sock", "live.sock", "notes"], "it may be young");
    await removeDeadSockets(folder, Date.now() + 120_000);
    assert.deepEqual((await readdir(folder)).sort(), ["live.sock", "notes"]);
    await removeDeadSockets(join(folder, "nowhere"));
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
