import assert from "node:assert/strict";
import { test } from "node:test";
import { difference } from "./difference.ts";

test("a difference is shown with what is around it", () => {
  const before = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 10 };
  assert.equal(
    difference(before, { ...before, b: 0, j: 0 }),
    [
      "@@ -1,6 +1,6 @@",
      " {",
      '  "a": 1,',
      '- "b": 2,',
      '+ "b": 0,',
      '  "c": 3,',
      '  "d": 4,',
      '  "e": 5,',
      "@@ -8,5 +8,5 @@",
      '  "g": 7,',
      '  "h": 8,',
      '  "i": 9,',
      '- "j": 10',
      '+ "j": 0',
      " }",
      "",
    ].join("\n"),
  );
  assert.equal(difference(before, before), "");
});
