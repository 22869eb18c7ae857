import assert from "node:assert/strict";
import { test } from "node:test";
import { BERTHS, controlAddress, demoPlans } from "./demo-plan.ts";

test("no two sites share an address or a range, whichever demo they are of", () => {
  const plans = Array.from({ length: BERTHS }, (_, berth) => demoPlans(berth)).flat();
  const ranges = plans.flatMap(({ serviceRange, podRange }) => [serviceRange, podRange]);
  assert.equal(new Set(ranges).size, 2 * plans.length);
  for (const range of ranges) {
    const second = Number(range.split(".")[1]);
    assert.ok(second > 119 && second < 255, `${range} is among those that nodes choose by themselves, or none`);
  }
  const controls = Array.from({ length: BERTHS }, (_, berth) => controlAddress(berth).host);
  assert.equal(new Set([...plans.map(({ address }) => address), ...controls]).size, plans.length + BERTHS);
});

test("one site is in the cloud and four are at the edge", () => {
  const tiers = demoPlans(0).map(({ name, tier }) => `${name} ${tier}`);
  const edges = ["green-smoke edge", "lingering-meadow edge", "lively-wave edge", "frosty-wood edge"];
  assert.deepEqual(tiers, ["harbor cloud", ...edges]);
});
