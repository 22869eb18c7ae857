import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { writeArchive } from "./write-archive.ts";

const folder = mkdtempSync(join(tmpdir(), "fjord-archive-"));
const signal = new AbortController().signal;
after(() => rmSync(folder, { recursive: true, force: true }));

test("an archive takes the place of an older one, readable by its owner alone", async () => {
  const file = join(folder, "report.tar.gz");
  writeFileSync(file, "older");
  await writeArchive(file, Buffer.from("newer"), signal);
  assert.equal(readFileSync(file, "utf8"), "newer");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ["report.tar.gz"]);
});

test("where it cannot be written there is nothing of it", async () => {
  const target = join(folder, "taken");
  await assert.rejects(writeArchive(join(target, "report.tar.gz"), Buffer.from("x"), signal), {
    code: "CLI_REPORT_NOT_WRITTEN",
    message: /report\.tar\.gz.*ENOENT/,
  });
  assert.deepEqual(readdirSync(folder), ["report.tar.gz"]);
});

test("a device is written to, and a full one is told of", { skip: process.platform !== "linux" }, async () => {
  const full = join(folder, "full");
  symlinkSync("/dev/full", full);
  await assert.rejects(writeArchive(full, Buffer.from("x"), signal), {
    code: "CLI_REPORT_NOT_WRITTEN",
    message: /ENOSPC/,
  });
  await writeArchive("/dev/null", Buffer.from("x"), signal);
  assert.ok(statSync("/dev/null").isCharacterDevice());
});

test("where it is interrupted there is nothing of it", async () => {
  const before = readdirSync(folder);
  const interrupted = AbortSignal.abort(new Error("interrupted"));
  for (const file of [join(folder, "other.tar.gz"), "/dev/null"])
    await assert.rejects(writeArchive(file, Buffer.from("x"), interrupted), /^Error: interrupted$/);
  const interrupt = new AbortController();
  const writing = writeArchive(join(folder, "other.tar.gz"), Buffer.from("x"), interrupt.signal);
  interrupt.abort(new Error("interrupted"));
  await assert.rejects(writing, /^Error: interrupted$/);
  assert.deepEqual(readdirSync(folder), before);
});
