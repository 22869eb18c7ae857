import assert from "node:assert/strict";
import { test } from "node:test";
import { boundHolds, describeBound, median } from "./record.ts";

test("the median of an even number of runs lies between the middle two", () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([10, 1, 2, 4]), 3);
  assert.throws(() => median([]), /no values/);
});

test("a bound on the ratio does not hold where there is no baseline", () => {
  assert.equal(boundHolds({ of: "ratio", atMost: 0.5 }, 1, null), false);
  assert.equal(boundHolds({ of: "ratio", atMost: 0.5 }, 1, 0.5), true);
  assert.equal(boundHolds({ of: "ratio", atLeast: 2 }, 1, 1.99), false);
  assert.equal(boundHolds({ of: "value", atMost: 90 }, 89, null), true);
});

test("a bound reads as it was asked for", () => {
  assert.equal(describeBound({ of: "ratio", atMost: 0.5 }), "ratio <= 0.5");
  assert.equal(describeBound({ of: "value", atLeast: 1, atMost: 2 }), "value <= 2, value >= 1");
});
