import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { sameContent } from "./same-content.ts";

test("two JSON values are the same when they are deeply equal", () => {
  const value = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  fc.assert(
    fc.property(value, value, (a, b) => {
      assert.equal(sameContent(a, b), isDeepStrictEqual(a, b));
      assert.equal(sameContent(a, structuredClone(a)), true);
    }),
  );
});

test("a field that is undefined counts as absent", () => {
  assert.equal(sameContent({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(sameContent({ a: 1 }, { a: 1, b: undefined }), true);
  assert.equal(sameContent({ a: 1 }, { a: 1, b: null }), false);
  assert.equal(sameContent({ a: 1, b: null }, { a: 1 }), false);
});
