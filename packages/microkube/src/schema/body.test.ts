import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson, parseYaml } from "./body.ts";

const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`;

test("what is nested beyond any stack is refused, however it is written", () => {
  for (const depth of [1_001, 100_000, 1_000_000]) {
    assert.throws(() => parseJson(nested(depth, "[", "]")), /exceeded max depth/);
    assert.throws(() => parseJson(nested(depth, '{"a":', "}")), /exceeded max depth/);
  }
  assert.throws(() => parseYaml(nested(2_000, "[", "]")));
  assert.throws(() => parseYaml(nested(2_000, "- ", "")));
  assert.doesNotThrow(() => parseJson(nested(1_000, "[", "]")));
});

test("brackets within texts are no nesting", () => {
  assert.deepEqual(parseJson(JSON.stringify(["[".repeat(5_000), '{"'.repeat(5_000)])).value, [
    "[".repeat(5_000),
    '{"'.repeat(5_000),
  ]);
});
