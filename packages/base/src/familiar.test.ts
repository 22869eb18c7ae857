import assert from "node:assert/strict";
import { test } from "node:test";
import { Familiar } from "./familiar.ts";

test("what comes again and again stays, and what comes once is forgotten", () => {
  const familiar = new Familiar<{ at: number }>(10);
  const often = familiar.meet("often", { at: 0 });
  const once = familiar.meet("once", { at: 0 });
  for (let at = 1; at < 100; at++) {
    familiar.meet(`text ${at}`, { at });
    assert.equal(familiar.meet("often", { at }), often);
  }
  assert.notEqual(familiar.meet("once", { at: 100 }), once);
});
