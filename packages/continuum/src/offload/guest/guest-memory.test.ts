import assert from "node:assert/strict";
import { test } from "node:test";
import { type GuestMemory, hasPassed, noteRecreation, recreationDelay } from "./guest-memory.ts";

test("a guest that keeps getting lost is made again later and later, the first time at once", () => {
  const memory: GuestMemory = { shadowUid: "s" };
  assert.equal(recreationDelay(memory, 0), 0);
  let now = 1_000_000_000;
  const delays: number[] = [];
  for (let round = 0; round < 12; round++) {
    noteRecreation(memory, 0, now);
    delays.push(recreationDelay(memory, now));
    now += recreationDelay(memory, now);
  }
  assert.deepEqual(delays.slice(0, 4), [1_000, 2_000, 4_000, 8_000]);
  assert.equal(Math.max(...delays), 300_000);
  noteRecreation(memory, 0, now + 3_600_000);
  assert.equal(recreationDelay(memory, now + 3_600_000), 1_000);
});

test("recreations go on from what an earlier process counted", () => {
  const memory: GuestMemory = { shadowUid: "s" };
  noteRecreation(memory, 4, 0);
  noteRecreation(memory, 4, 0);
  assert.equal(memory.recreations, 6);
});

test("a watch has passed a revision once it stands behind it", () => {
  assert.equal(hasPassed("9", "10"), false);
  assert.equal(hasPassed("10", "10"), false);
  assert.equal(hasPassed("11", "10"), true);
  assert.equal(hasPassed("strange", "10"), true);
});
