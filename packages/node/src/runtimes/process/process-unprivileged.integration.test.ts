import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findTool } from "./tools.ts";

const NOBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"];
const FILES = ["process-runtime.test.ts", "container-command.test.ts", "containment.test.ts", "crash.test.ts"];

test("everything works for a user without privileges", { skip: skipReason(), timeout: 300_000 }, async (t) => {
  const folder = mkdtempSync("/tmp/fjord-nobody-");
  chmodSync(folder, 0o777);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const files = FILES.map((name) => join(import.meta.dirname, name));
  const child = spawn(setpriv(), [...NOBODY, process.execPath, "--test", ...files], {
    // Without what the test runner tells its own children.
    env: { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR: folder, FJORD_KILLS: "4" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  assert.equal(code, 0, output);
  assert.match(output, /pass [1-9]\d/);
});

function setpriv(): string {
  return findTool("setpriv") ?? "setpriv";
}

function skipReason(): string | false {
  if (process.geteuid?.() !== 0) return "needs root, to become nobody; the same tests run as they are otherwise";
  if (!findTool("setpriv")) return "needs setpriv";
  const readable = spawnSync(setpriv(), [
    ...NOBODY,
    process.execPath,
    "--check",
    join(import.meta.dirname, "index.ts"),
  ]);
  return readable.status === 0 ? false : "the user nobody can not read this folder";
}
