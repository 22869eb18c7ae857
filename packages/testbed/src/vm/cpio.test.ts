import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../binaries/find.ts";
import { cpioArchive } from "./cpio.ts";

const busybox = which("busybox", process.env, ["/bin", "/usr/bin"]);

test("an archive is what others unpack", { skip: busybox === undefined && "no busybox" }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), "fjord-cpio-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const archive = cpioArchive([
    { path: "bin", mode: 0o40755 },
    { path: "bin/odd", mode: 0o100755, content: Buffer.from("12345") },
    { path: "empty", mode: 0o100644 },
  ]);
  execFileSync(busybox ?? "", ["cpio", "-i"], { cwd: directory, input: archive, stdio: ["pipe", "ignore", "ignore"] });
  assert.equal(readFileSync(join(directory, "bin/odd"), "utf8"), "12345");
  assert.equal(statSync(join(directory, "bin/odd")).mode & 0o777, 0o755);
  assert.equal(statSync(join(directory, "empty")).size, 0);
});
