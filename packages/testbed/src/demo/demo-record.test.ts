import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type DemoRecord, readRecord, writeRecord } from "./demo-record.ts";
import { DemoDirectoryRefused } from "./errors.ts";

const mine: DemoRecord = { owner: { pid: 1, started: "a" }, berth: 0, substrate: "embedded", control: "http://a/" };
const yours: DemoRecord = { ...mine, owner: { pid: 2, started: "b" } };

test("of two demos in one directory the first has it, and the other is told which that is", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "fjord-demo-record-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  assert.equal(readRecord(directory), undefined);
  assert.equal(writeRecord(directory, mine), undefined);
  assert.deepEqual(writeRecord(directory, yours), mine);
  assert.deepEqual(readRecord(directory), mine);
  assert.deepEqual(readdirSync(directory), ["demo.json"]);
});

test("a record that nobody can read is no obstacle", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "fjord-demo-record-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "demo.json"), '{"owner":');
  assert.equal(writeRecord(directory, yours), undefined);
  assert.deepEqual(readRecord(directory), yours);
});

test("a directory that cannot be is named, with what to do", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "fjord-demo-record-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const inTheWay = join(directory, "file");
  writeFileSync(inTheWay, "");
  for (const attempt of [() => readRecord(inTheWay), () => writeRecord(join(inTheWay, "demo"), mine)])
    assert.throws(attempt, (error) => error instanceof DemoDirectoryRefused && /\/file\b.*ENOTDIR/.test(error.message));
});
