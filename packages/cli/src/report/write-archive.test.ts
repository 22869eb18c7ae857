import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { writeArchive } from "./write-archive.ts";

const folder = mkdtempSync(join(tmpdir(), "fjord-archive-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("an archive takes the place of an older one, readable by its owner alone", async () => {
  const file = join(folder, "report.tar.gz");
  writeFileSync(file, "older");
  await writeArchive(file, Buffer.from("newer"));
  assert.equal(readFileSync(file, "utf8"), "newer");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ["report.tar.gz"]);
});

test("where it cannot be written there is nothing of it", async () => {
  const target = join(folder, "taken");
  await assert.rejects(writeArchive(join(target, "report.tar.gz"), Buffer.from("x")), {
    code: "CLI_REPORT_NOT_WRITTEN",
    message: /report\.tar\.gz.*ENOENT/,
  });
  assert.deepEqual(readdirSync(folder), ["report.tar.gz"]);
});

test("a device is written to, and a full one is told of", { skip: process.platform !== "linux" }, async () => {
  const full = join(folder, "full");
  symlinkSync("/dev/full", full);
  await assert.rejects(writeArchive(full, Buffer.from("x")), { code: "CLI_REPORT_NOT_WRITTEN", message: /ENOSPC/ });
  await writeArchive("/dev/null", Buffer.from("x"));
  assert.ok(statSync("/dev/null").isCharacterDevice());
});
