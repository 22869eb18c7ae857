import assert from "node:assert/strict";
import { test } from "node:test";
import { roughSize } from "./rough-size.ts";

test("a value is as large as its texts, its names and something for each", () => {
  assert.equal(roughSize("abc"), 19);
  assert.ok(roughSize({ a: "x".repeat(1_000) }) >= 1_000);
  assert.ok(roughSize({ ["x".repeat(1_000)]: null }) >= 1_000);
  assert.ok(roughSize(Array.from({ length: 1_000 }, () => 1)) >= 8_000);
});

test("a value nested deeper than the stack is measured like any other", () => {
  const depth = 200_000;
  assert.ok(roughSize(JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)) >= 5_000);
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { a: value };
  assert.ok(roughSize(value) >= depth);
});
