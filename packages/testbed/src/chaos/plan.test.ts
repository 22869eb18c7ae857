import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { after, emptyModel } from "./model.ts";
import { makePlan } from "./plan.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 31 });

test("a plan is a function of its seed", () => {
  fc.assert(
    fc.property(seeds, (seed) => assert.deepEqual(makePlan({ seed, ms: 60_000 }), makePlan({ seed, ms: 60_000 }))),
    { numRuns: 20 },
  );
  assert.notDeepEqual(makePlan({ seed: 1, ms: 60_000 }), makePlan({ seed: 2, ms: 60_000 }));
});

test("a longer plan begins as the shorter one does", () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const short = makePlan({ seed, ms: 30_000 }).steps;
      assert.deepEqual(makePlan({ seed, ms: 60_000 }).steps.slice(0, short.length), short);
    }),
    { numRuns: 20 },
  );
});

test("the model is what the wishes add up to, and steps are in order", () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { steps, model } = makePlan({ seed, ms: 300_000 });
      const wishes = steps.flatMap(({ action }) => (action === undefined ? [] : [action]));
      assert.deepEqual(wishes.reduce(after, emptyModel()), model);
      assert.ok(steps.every(({ at }, i) => at >= (steps[i - 1]?.at ?? 0)));
    }),
    { numRuns: 20 },
  );
});

test("no two troubles befall the same thing at once", () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const ends = new Map<string, number>();
      for (const { at, trouble } of makePlan({ seed, ms: 600_000 }).steps) {
        if (trouble === undefined) continue;
        const target = "site" in trouble ? trouble.site + trouble.process : [trouble.from, trouble.to].sort().join();
        assert.ok((ends.get(target) ?? 0) < at);
        ends.set(target, at + trouble.ms);
      }
    }),
    { numRuns: 20 },
  );
});

test("every sort of wish and of trouble comes up", () => {
  const { steps } = makePlan({ seed: 1, ms: 1_800_000 });
  const wishes = new Set(steps.map(({ action }) => action?.do));
  for (const wish of ["put", "remove", "replace", "offload", "unoffload", "renew", "resize", "stand"] as const)
    assert.ok(wishes.has(wish), wish);
  const troubles = new Set(steps.map(({ trouble }) => trouble?.is));
  for (const trouble of ["kill", "pause", "silence", "one-way", "reset", "slow"] as const)
    assert.ok(troubles.has(trouble), trouble);
});
