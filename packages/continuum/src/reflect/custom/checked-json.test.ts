import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { checkedJson } from "./checked-json.ts";

it("JSON of an object's size is taken as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" }), (value) => {
      assert.equal(checkedJson(value), value);
    }),
  );
});

it("what is too deep, too long, too many or no text is not", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 40; level++) deep = { deep };
  assert.equal(checkedJson(deep), undefined);
  assert.equal(checkedJson("x".repeat(200_000)), undefined);
  assert.equal(checkedJson({ ["k".repeat(200_000)]: 1 }), undefined);
  assert.equal(checkedJson(Array.from({ length: 5_000 }, () => 0)), undefined);
  assert.equal(checkedJson({ a: "\ud800" }), undefined);
});
