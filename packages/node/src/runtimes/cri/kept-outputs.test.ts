import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { KeptOutputs, restOf } from "./kept-outputs.ts";

const before = "2026-01-02T03:04:05.000000001Z stdout F before\n";
const records = "2026-01-02T03:04:06.000000000Z stdout F one\n2026-01-02T03:04:06.000000001Z stdout F two\n";

async function kept(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "fjord-kept-"));
  t.after(() => rm(directory, { recursive: true }));
  const log = join(directory, "0.log");
  writeFileSync(log, before);
  return { directory, log, outputs: new KeptOutputs(directory) };
}

test("whatever part of the records a log has got, it gets the rest", () => {
  for (let length = 0; length <= records.length; length++) {
    const log = before + records.slice(0, length);
    assert.equal(log + restOf(Buffer.from(records), Buffer.from(log)).toString(), before + records, `of ${length}`);
  }
  assert.equal(restOf(Buffer.from(records), Buffer.alloc(0)).toString(), records);
});

test("output is kept in pieces, goes to the log once, and is gone then", async (t) => {
  const { directory, log, outputs } = await kept(t);
  for (const piece of ["on", "e\n"]) assert.equal(outputs.add("c", "stdout", Buffer.from(piece)).length, 0);
  assert.deepEqual([...new KeptOutputs(directory).ids()], ["c"]);
  assert.equal(outputs.output("c", "stdout").toString(), "one\n");
  outputs.addToLog("c", log, () => Buffer.from(records));
  assert.equal(readFileSync(log, "utf8"), before + records);
  assert.deepEqual(readdirSync(directory), ["0.log"]);
});

test("records that were noted before a kill are added as they were noted, as far as they are missing", async (t) => {
  for (const there of ["", records.slice(0, 50), records]) {
    const { directory, log, outputs } = await kept(t);
    writeFileSync(join(directory, "c-stdout"), "one\ntwo\n");
    writeFileSync(join(directory, "c-records"), records);
    writeFileSync(log, before + there);
    outputs.addToLog("c", log, () => assert.fail("they have been made"));
    assert.equal(readFileSync(log, "utf8"), before + records);
    assert.deepEqual(readdirSync(directory), ["0.log"]);
  }
});

test("what there is no room for is given back", () => {
  assert.equal(new KeptOutputs("/dev/null/none").add("c", "stdout", Buffer.from("one\n")).toString(), "one\n");
});
