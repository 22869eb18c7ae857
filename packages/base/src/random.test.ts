import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Random, seededRandom } from "./random.ts";

const take = (random: Random, count: number) => Array.from({ length: count }, random);

test("the same seed gives the same numbers, all in [0, 1)", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const numbers = take(seededRandom(seed), 20);
      assert.deepEqual(take(seededRandom(seed), 20), numbers);
      assert.ok(numbers.every((n) => n >= 0 && n < 1));
    }),
  );
});

test("different seeds give different numbers, spread evenly", () => {
  assert.notDeepEqual(take(seededRandom(1), 5), take(seededRandom(2), 5));
  const numbers = take(seededRandom(7), 10_000);
  for (let tenth = 0; tenth < 10; tenth++) {
    const share = numbers.filter((n) => Math.floor(n * 10) === tenth).length;
    assert.ok(share > 850 && share < 1150, `${share} of 10000 in tenth ${tenth}`);
  }
});
