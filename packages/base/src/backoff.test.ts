import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Backoff, backoffDelay } from "./backoff.ts";

const someOptions = fc.record({
  initial: fc.integer({ min: 1, max: 10_000 }),
  max: fc.integer({ min: 10_000, max: 10_000_000 }),
  factor: fc.double({ min: 1, max: 10, noNaN: true }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("a delay is never above its maximum, nor below what jitter may take off", () => {
  fc.assert(
    fc.property(someOptions, chance, fc.nat(10_000), (options, roll, failures) => {
      const delay = backoffDelay(failures, { ...options, random: () => roll });
      assert.ok(delay <= options.max);
      assert.ok(delay >= options.initial * (1 - options.jitter) - 1e-6);
    }),
  );
});

test("without jitter delays never shrink as failures mount", () => {
  fc.assert(
    fc.property(someOptions, fc.nat(100), (options, failures) => {
      const exact = { ...options, jitter: 0, random: () => 0.5 };
      assert.ok(backoffDelay(failures + 1, exact) >= backoffDelay(failures, exact));
    }),
  );
});

test("counts failures in a row and starts over after a reset", () => {
  const backoff = new Backoff({ initial: 100, max: 500, jitter: 0, random: () => 0 });
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [100, 200, 400, 500]);
  assert.equal(backoff.failures, 4);
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test("takes off up to half at random unless told otherwise", () => {
  assert.equal(backoffDelay(0, { initial: 100, max: 100, random: () => 0 }), 100);
  assert.equal(backoffDelay(0, { initial: 100, max: 100, random: () => 0.5 }), 75);
});
