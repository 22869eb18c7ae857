import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { SpareMemory } from "./spare-memory.ts";

const MB = 1024 * 1024;

/** A process whose memory and work are what the test says; looked at every two seconds. */
function machine() {
  const state = { resident: 90 * MB, worked: 0, collections: 0, needed: 80 * MB };
  const clock = new ManualClock();
  const spare = new SpareMemory({
    residentBytes: () => state.resident,
    workedMs: () => state.worked,
    collect: () => {
      state.collections++;
      state.resident = state.needed;
    },
    clock,
  });
  const stop = new AbortController();
  const running = spare.run(stop.signal);
  const look = async (workedMs: number) => {
    state.worked += workedMs;
    await clock.advance(2_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  return { state, look, end };
}

test("gives back what a start has left", async () => {
  const { state, look, end } = machine();
  await look(1_500);
  await look(100);
  await look(100);
  assert.equal(state.collections, 0, "it may go on in a moment");
  await look(100);
  assert.equal(state.collections, 1);
  await end();
});

test("gives back what a burst has left when it has been over for a while, and once", async () => {
  const { state, look, end } = machine();
  for (let round = 0; round < 3; round++) await look(100);
  assert.equal(state.collections, 1);
  state.resident = 105 * MB;
  state.needed = 88 * MB;
  await look(1_800);
  await look(100);
  await look(100);
  await look(900);
  await look(100);
  await look(100);
  assert.equal(state.collections, 1, "it may go on in a moment");
  await look(100);
  assert.equal(state.collections, 2);
  for (let round = 0; round < 20; round++) await look(100);
  assert.equal(state.collections, 2, "what is needed is not looked at again and again");
  state.resident = 92 * MB;
  await look(100);
  assert.equal(state.collections, 2, "a little is left alone");
  state.resident = 94 * MB;
  await look(100);
  assert.equal(state.collections, 3);
  await end();
});
