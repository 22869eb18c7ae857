import assert from "node:assert/strict";
import { test } from "node:test";
import { type FaultResult, resultsText, rowOf, withResults } from "./fault-result.ts";

const result = (fault: string, more: Partial<FaultResult> = {}): FaultResult => ({
  fault,
  promised: "3 s",
  passed: true,
  on: "2026-01-01",
  ...more,
});

test("results of a part of all faults take the place of earlier ones, where those stood", () => {
  const before = [result("a"), result("b", { part: "there" }), result("b", { part: "back" }), result("c")];
  const after = withResults(before, [result("b", { part: "there", passed: false }), result("d")]);
  assert.deepEqual(
    after.map(({ fault, passed }) => [fault, passed]),
    [
      ["a", true],
      ["b", false],
      ["c", true],
      ["d", true],
    ],
  );
});

test("results are kept as a file that formats like others", () => {
  const all = [result("a", { holesMs: [1, 2.5], lost: [0, 12] }), result("[ 1 ]")];
  const text = resultsText(all);
  assert.deepEqual(JSON.parse(text), all);
  assert.match(text, /"holesMs": \[1, 2.5\],\n {4}"lost": \[0, 12\]\n/);
});

test("a cut of another length has a row of its own", () => {
  const after = withResults([result("cut for 600 s"), result("b")], [result("cut for 30 s")]);
  assert.deepEqual(
    after.map(({ fault }) => fault),
    ["cut for 600 s", "b", "cut for 30 s"],
  );
});

test("a row says what was measured, and of what was not that it was not", () => {
  const seen = { holesMs: [1_240, 1_230], lost: [3, 0], sent: [100, 90], silenceMs: 2_000, lastFailureMs: 0 };
  assert.deepEqual(rowOf(result("a", seen)), ["a", "3 s", "1.2 s", "3 of 100 / 0 of 90", "2.0 s", "none", "ok"]);
  const failed = rowOf(result("a", { part: "back", passed: false, broken: "ECONNRESET", lastFailureMs: 900 }));
  assert.deepEqual(failed, ["a: back", "3 s", "-", "-", "ECONNRESET", "until 0.9 s", "FAILED"]);
  assert.deepEqual(rowOf(result("a", { agreedMs: 12_000 })).at(-2), "agree again after 12.0 s");
});
