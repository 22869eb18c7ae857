import assert from "node:assert/strict";
import { test } from "node:test";
import { scaledValue } from "./int-or-percent.ts";

test("a share is rounded as asked, a number taken as it is", () => {
  assert.equal(scaledValue(3, 10, "up"), 3);
  assert.equal(scaledValue("25%", 10, "up"), 3);
  assert.equal(scaledValue("25%", 10, "down"), 2);
  assert.equal(scaledValue("100%", 7, "down"), 7);
  assert.equal(scaledValue("0%", 7, "up"), 0);
  assert.equal(scaledValue("x", 7, "up"), undefined);
});
