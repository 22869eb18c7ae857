import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { Expectations } from "./expectations.ts";

test("nothing is expected until something was done, and then until the cache has shown all of it", () => {
  const expectations = new Expectations(new ManualClock());
  assert.equal(expectations.satisfied("a"), true);
  expectations.expectCreations("a", 2);
  assert.equal(expectations.satisfied("a"), false);
  assert.equal(expectations.satisfied("b"), true);
  expectations.creationObserved("a");
  assert.equal(expectations.satisfied("a"), false);
  expectations.creationObserved("a");
  assert.equal(expectations.satisfied("a"), true);
});

test("a deletion that is seen twice counts once, and creations that nobody expected not at all", () => {
  const expectations = new Expectations(new ManualClock());
  expectations.expectDeletions("a", ["p", "q"]);
  expectations.deletionObserved("a", "p");
  expectations.deletionObserved("a", "p");
  expectations.creationObserved("a");
  assert.equal(expectations.satisfied("a"), false);
  expectations.deletionObserved("a", "q");
  assert.equal(expectations.satisfied("a"), true);
});

test("after five minutes the cache is believed again", async () => {
  const clock = new ManualClock();
  const expectations = new Expectations(clock);
  expectations.expectCreations("a", 1);
  await clock.advance(299_000);
  assert.equal(expectations.satisfied("a"), false);
  await clock.advance(1_000);
  assert.equal(expectations.satisfied("a"), true);
  expectations.expectCreations("a", 1);
  expectations.forget("a");
  assert.equal(expectations.satisfied("a"), true);
});
