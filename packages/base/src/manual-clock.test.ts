import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sleep } from "./clock.ts";
import { ManualClock } from "./manual-clock.ts";

test("timers fire in the order they fall due, each at its own time, and none ahead of it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(100), { maxLength: 30 }), fc.nat(100), async (delays, until) => {
      const clock = new ManualClock(0);
      const fired: number[] = [];
      for (const ms of delays) {
        clock.after(ms, () => {
          assert.equal(clock.now(), ms);
          fired.push(ms);
        });
      }
      await clock.advance(until);
      assert.deepEqual(
        fired,
        delays.filter((ms) => ms <= until).sort((a, b) => a - b),
      );
      assert.equal(clock.pending, delays.length - fired.length);
      assert.equal(clock.now(), until);
    }),
    { numRuns: 50 },
  );
});

test("work that waits in steps gets its later timers within one advance", async () => {
  const clock = new ManualClock(0);
  const at: number[] = [];
  const work = (async () => {
    for (let step = 0; step < 3; step++) {
      await sleep(clock, 10);
      at.push(clock.now());
    }
  })();
  await clock.advance(35);
  await work;
  assert.deepEqual(at, [10, 20, 30]);
});

test("a cancelled timer does not fire", async () => {
  const clock = new ManualClock();
  clock.after(10, () => assert.fail("fired"))();
  await clock.advance(20);
});
