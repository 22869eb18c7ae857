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

test("values of any depth are compared", () => {
  const deep = (levels: number, core: string) =>
    JSON.parse(`${'{"a":['.repeat(levels)}${core}${"]}".repeat(levels)}`) as unknown;
  assert.equal(sameContent(deep(50_000, "1"), deep(50_000, "1")), true);
  assert.equal(sameContent(deep(50_000, "1"), deep(50_000, "2")), false);
  assert.equal(sameContent(deep(50_000, "1"), deep(49_999, "1")), false);
});

test("a list is not the same as an object with its items", () => {
  assert.equal(sameContent(["x"], { 0: "x" }), false);
  assert.equal(sameContent([], {}), false);
  assert.equal(sameContent([1], [1, 2]), false);
});
