import assert from "node:assert/strict";
import { test } from "node:test";
import { sameValue } from "./same-value.ts";

test("values are compared by what JSON would say of them", () => {
  assert.equal(sameValue({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(sameValue({ a: 1 }, { a: 1, b: undefined }), true);
  assert.equal(sameValue({ a: 1 }, { a: 1, b: 0 }), false);
  assert.equal(sameValue([1, { x: [2] }], [1, { x: [2] }]), true);
  assert.equal(sameValue([1, 2], [2, 1]), false);
  assert.equal(sameValue([], {}), false);
  assert.equal(sameValue(null, {}), false);
  assert.equal(sameValue("1", 1), false);
});
