import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { AttemptLimits } from "./attempt-limits.ts";

const count = (limits: AttemptLimits, peers: string[]) => peers.filter((peer) => limits.allow(peer)).length;

test("one peer has ten attempts, then one every two seconds, and takes nothing from others", async () => {
  const clock = new ManualClock();
  const limits = new AttemptLimits(clock);
  assert.equal(
    count(
      limits,
      Array.from({ length: 1_000 }, () => "a"),
    ),
    10,
  );
  assert.equal(
    count(
      limits,
      Array.from({ length: 10 }, () => "b"),
    ),
    10,
  );
  await clock.advance(4_000);
  assert.equal(count(limits, ["a", "a", "a"]), 2);
});

test("strangers with ever new keys are limited together", async () => {
  const clock = new ManualClock();
  const limits = new AttemptLimits(clock);
  const strangers = Array.from({ length: 5_000 }, (_, index) => `s${index}`);
  assert.equal(count(limits, strangers), 200);
  await clock.advance(1_000);
  assert.equal(count(limits, strangers), 20);
});
