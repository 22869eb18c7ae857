import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { collectAtRest, fullCollection } from "./rest.ts";

test("garbage is collected once after work, and not while it goes on", async () => {
  const clock = new ManualClock();
  let used = 1;
  let collections = 0;
  const stop = collectAtRest({ clock, used: () => used, collect: () => collections++ });
  await clock.advance(1_000);
  assert.equal(collections, 1, "what a start leaves behind");
  for (let second = 0; second < 5; second++) {
    used += 0.8;
    await clock.advance(1_000);
  }
  assert.equal(collections, 1);
  await clock.advance(1_000);
  assert.equal(collections, 2);
  await clock.advance(60_000);
  assert.equal(collections, 2);
  stop();
  used += 1;
  await clock.advance(5_000);
  assert.equal(collections, 2);
});

test("V8 collects when it is told to", () => {
  const collect = fullCollection();
  let held: unknown = Array.from({ length: 200_000 }, (_, n) => ({ n }));
  const full = process.memoryUsage().heapUsed;
  held = undefined;
  collect();
  assert.equal(held, undefined);
  assert(process.memoryUsage().heapUsed < full - 4e6);
});
