import assert from "node:assert/strict";
import { test } from "node:test";
import { substratesFor, tableOf } from "./combinations.ts";

const file = (pass: number, tests: number, skipped = 0) => ({
  ...{ file: "a.test.ts", seconds: 1, ok: pass === tests - skipped },
  counts: { tests, pass, fail: tests - pass - skipped, cancelled: 0, skipped },
});

test("the escape suite runs on what the provider has", () => {
  assert.equal(substratesFor("escape", "microkube,1.36"), "1.36");
  assert.equal(substratesFor("chaos", "microkube,1.36"), "microkube,1.36");
});

test("the table has what passed and what ran, by suite and combination", () => {
  const unended = { file: "b.test.ts", seconds: 1, ok: false, counts: undefined };
  const table = tableOf([
    { suite: "escape", combination: "microkube,1.36", files: [file(5, 6, 1), file(2, 2)] },
    { suite: "escape", combination: "1.36,microkube", files: [file(4, 6)] },
    { suite: "chaos", combination: "1.36,microkube", files: [unended] },
  ]);
  assert.deepEqual(table.split("\n"), [
    "| suite | microkube to 1.36 | 1.36 to microkube |",
    "| --- | --- | --- |",
    "| escape | 7 of 7 | 4 of 6 |",
    "| chaos |  | 0 of 0, 1 files without an end |",
  ]);
});
