import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { whileChanging } from "./while-changing.ts";

const run = async (lengths: readonly number[]) => {
  const clock = new ManualClock();
  let looks = 0;
  const look = () => Array.from({ length: lengths[Math.min(looks++, lengths.length - 1)] ?? 0 }, () => "left");
  const done = whileChanging(look, { clock, timeout: 3_000, interval: 1_000 });
  let is: boolean | undefined;
  void done.then((value) => {
    is = value;
  });
  while (is === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
  }
  return is;
};

test("what grows less is waited for, however long that takes", async () => {
  assert.equal(await run([5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0]), true);
});

test("what does not, or only comes and goes, is given up", async () => {
  assert.equal(await run([3, 3, 3, 3, 3]), false);
  assert.equal(await run([3, 2, 3, 2, 3, 2, 3, 2, 3]), false);
});
