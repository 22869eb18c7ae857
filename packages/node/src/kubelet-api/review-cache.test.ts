import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { ReviewCache } from "./review-cache.ts";

test("an answer is remembered for its time, a failure is not", async () => {
  const clock = new ManualClock();
  const cache = new ReviewCache<string>(clock, (answer) => (answer === "yes" ? 1000 : 100));
  let asked = 0;
  const ask = (answer: string) => async () => {
    asked++;
    if (answer === "fail") throw new Error("no answer");
    return answer;
  };
  await assert.rejects(cache.get("k", ask("fail")), /no answer/);
  assert.equal(await cache.get("k", ask("yes")), "yes");
  assert.equal(await cache.get("k", ask("no")), "yes");
  await clock.advance(1000);
  assert.equal(await cache.get("k", ask("no")), "no");
  await clock.advance(100);
  assert.equal(await cache.get("k", ask("yes")), "yes");
  assert.equal(asked, 4);
});

test("those who ask at the same time share an answer, and its failure", async () => {
  const cache = new ReviewCache<string>(new ManualClock(), () => 1000);
  let asked = 0;
  const fail = async () => {
    asked++;
    throw new Error("no answer");
  };
  const outcomes = await Promise.allSettled([cache.get("k", fail), cache.get("k", fail)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(asked, 1);
});

test("a flood of different questions does not grow without end", async () => {
  const cache = new ReviewCache<number>(new ManualClock(), () => 1000);
  let asked = 0;
  for (let i = 0; i < 5000; i++) await cache.get(String(i), async () => asked++);
  await cache.get("4999", async () => asked++);
  assert.equal(asked, 5000);
  await cache.get("0", async () => asked++);
  assert.equal(asked, 5001);
});
