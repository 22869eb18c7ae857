import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { Patience } from "./patience.ts";

test("the first question waits, those after it do not, and after a while one waits again", async () => {
  const clock = new ManualClock();
  const patience = new Patience(clock, 2_000, 10_000);
  assert.equal(patience.waitMs(true), 2_000);
  patience.silent(2_000);
  assert.equal(patience.waitMs(true), 0);
  assert.equal(patience.waitMs(false), 2_000, "who has nothing else waits in any case");
  await clock.advance(9_000);
  patience.silent(0);
  await clock.advance(1_000);
  assert.equal(patience.waitMs(true), 2_000, "who did not wait has not shown that it is silent");
});

test("an answer ends the silence", () => {
  const patience = new Patience(new ManualClock(), 2_000);
  patience.silent(2_000);
  patience.heard();
  assert.equal(patience.waitMs(true), 2_000);
});
