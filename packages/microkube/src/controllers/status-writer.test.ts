import assert from "node:assert/strict";
import { test } from "node:test";
import { mergePatch } from "./status-writer.ts";

test("a patch holds what differs, and null for what is gone", () => {
  assert.equal(mergePatch({ a: 1, l: [1] }, { a: 1, l: [1], b: undefined }), undefined);
  assert.deepEqual(mergePatch({ a: 1, b: 2 }, { a: 1 }), { b: null });
  assert.deepEqual(mergePatch({ o: { a: 1, b: 2 } }, { o: { a: 1, c: 3 } }), { o: { b: null, c: 3 } });
  assert.deepEqual(mergePatch({ l: [1, 2] }, { l: [1] }), { l: [1] });
  assert.deepEqual(mergePatch({}, { a: 0 }), { a: 0 });
  assert.deepEqual(mergePatch({ a: undefined }, {}), undefined);
});
