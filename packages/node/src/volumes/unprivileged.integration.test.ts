import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

const skip = process.getuid?.() === 0 ? false : "only root can become another user";
const nobody = 65534;

test("everything that needs no root works without it", { skip, timeout: 240_000 }, async () => {
  const folder = import.meta.dirname;
  const files = (await readdir(folder)).filter((name) => /(?<!integration)\.test\.ts$/.test(name));
  assert.ok(files.length > 8);
  const child = spawn(process.execPath, ["--test", ...files.map((name) => join(folder, name))], {
    cwd: folder,
    uid: nobody,
    gid: nobody,
    env: { PATH: process.env.PATH, TMPDIR: "/tmp", HOME: "/nonexistent" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 0, output);
});
