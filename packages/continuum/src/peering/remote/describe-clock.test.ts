import assert from "node:assert/strict";
import { test } from "node:test";
import { describeClock } from "./describe-clock.ts";

test("people are told of what matters", () => {
  assert.equal(describeClock(4_000), "");
  assert.match(describeClock(30_000), /its clock is 30 s ahead of this site's/);
  assert.match(describeClock(-300_000), /its clock is 5 min behind this site's/);
});
