import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "./manual-clock.ts";
import { TokenBucket } from "./token-bucket.ts";

test("lets at most the burst and the rate through, whatever the pauses", async () => {
  const someBucket = { burst: fc.integer({ min: 1, max: 10 }), perSecond: fc.integer({ min: 1, max: 50 }) };
  await fc.assert(
    fc.asyncProperty(fc.record(someBucket), fc.array(fc.nat(300), { maxLength: 50 }), async (options, pauses) => {
      const clock = new ManualClock(0);
      const bucket = new TokenBucket({ ...options, clock });
      let passed = 0;
      for (const pause of pauses) {
        await clock.advance(pause);
        if (bucket.tryTake()) passed++;
      }
      assert.ok(passed <= options.burst + (clock.now() / 1000) * options.perSecond + 1e-6);
    }),
    { numRuns: 50 },
  );
});

test("fills again up to the burst", async () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ burst: 2, perSecond: 1, clock });
  assert.deepEqual([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()], [true, true, false]);
  await clock.advance(60_000);
  assert.deepEqual([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()], [true, true, false]);
});

test("reserving on credit gives ever later times, a token apart", () => {
  const bucket = new TokenBucket({ burst: 1, perSecond: 4, clock: new ManualClock() });
  assert.deepEqual([bucket.reserve(), bucket.reserve(), bucket.reserve()], [0, 250, 500]);
});

test("what was taken for nothing is given back, up to the burst", () => {
  const bucket = new TokenBucket({ burst: 4, perSecond: 1, clock: new ManualClock() });
  assert.equal(bucket.reserve(6), 2_000);
  bucket.giveBack(5);
  assert.deepEqual([bucket.tryTake(3), bucket.tryTake()], [true, false]);
  bucket.giveBack(100);
  assert.deepEqual([bucket.tryTake(4), bucket.tryTake()], [true, false]);
});
