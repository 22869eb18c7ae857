import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { surgeOf, unavailableOf } from "./fence.ts";
import { isScaled, newSize, rescale, type Sizing, shrinkOld, specified } from "./scaling.ts";
import { deployment, replicaSet } from "./test-sets.ts";

const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
});
const sizes = (sizings: readonly Sizing[]) =>
  Object.fromEntries(sizings.map(({ replicaSet, replicas }) => [replicaSet.metadata.name, replicas]));

test("surge is rounded up, what may be missing down, and never are both nothing", () => {
  const limits = (replicas: number, spec: object) => {
    const owner = deployment(replicas, spec);
    return [surgeOf(owner), unavailableOf(owner)];
  };
  assert.deepEqual(limits(10, {}), [3, 2]);
  assert.deepEqual(limits(1, {}), [1, 0]);
  assert.deepEqual(limits(10, rolling(0, 0)), [0, 1]);
  assert.deepEqual(limits(3, rolling("0%", "10%")), [0, 1]);
  assert.deepEqual(limits(2, rolling(0, 5)), [0, 2]);
  assert.deepEqual(limits(10, { strategy: { type: "Recreate" } }), [0, 0]);
});

test("the new one grows into the room that the surge leaves", () => {
  const owner = deployment(10, rolling(3, 2));
  assert.equal(newSize(owner, [replicaSet("old", 10, 2)], 0), 3);
  assert.equal(newSize(owner, [replicaSet("old", 8, 2), replicaSet("new", 3, 1)], 3), 5);
  assert.equal(newSize(owner, [replicaSet("old", 0, 2), replicaSet("new", 9, 1)], 9), 10);
  assert.equal(newSize(owner, [replicaSet("old", 10, 2), replicaSet("new", 3, 1)], 3), 3);
  assert.equal(newSize(deployment(4, { strategy: { type: "Recreate" } }), [], 0), 4);
});

test("old ones shrink first by what is unhealthy, then by what the new one makes up for", () => {
  const owner = deployment(10, rolling(3, 2));
  const shrink = (old: ReturnType<typeof replicaSet>[], current: ReturnType<typeof replicaSet>) =>
    sizes(shrinkOld(owner, old, current));
  assert.deepEqual(shrink([replicaSet("old", 10, 2)], replicaSet("new", 3, 1, { available: 0 })), { old: 8 });
  assert.deepEqual(shrink([replicaSet("old", 8, 2)], replicaSet("new", 5, 1, { available: 0 })), {});
  assert.deepEqual(shrink([replicaSet("old", 8, 2)], replicaSet("new", 5, 1, { available: 2 })), { old: 6 });
  assert.deepEqual(shrink([replicaSet("old", 10, 2, { available: 8 })], replicaSet("new", 3, 1, { available: 0 })), {
    old: 8,
  });
  const two = [replicaSet("older", 4, 3, { available: 1 }), replicaSet("old", 4, 2)];
  assert.deepEqual(shrink(two, replicaSet("new", 5, 1)), { older: 0, old: 3 });
});

test("a change of size is told from a rollout by what the sets were told before", () => {
  assert.equal(isScaled(deployment(5), [replicaSet("a", 3, 1, { desired: 3 })]), true);
  assert.equal(isScaled(deployment(3), [replicaSet("a", 3, 1, { desired: 3 })]), false);
  assert.equal(isScaled(deployment(5), [replicaSet("a", 3, 1)]), false);
  assert.equal(isScaled(deployment(5), [replicaSet("a", 0, 1, { desired: 3 })]), false);
});

test("the only one with pods, or the latest, takes the whole size", () => {
  const old = replicaSet("old", 0, 2);
  assert.deepEqual(sizes(rescale(deployment(5), replicaSet("new", 3, 1), [old])), { new: 5 });
  assert.deepEqual(sizes(rescale(deployment(5), replicaSet("new", 0, 1), [old])), { new: 5 });
  assert.deepEqual(sizes(rescale(deployment(5), undefined, [old, replicaSet("older", 0, 3)])), { old: 5 });
  assert.deepEqual(rescale(deployment(3), replicaSet("new", 3, 1), [old]), []);
});

test("in the middle of a rollout each gets its share", () => {
  const told = { desired: 10, max: 13 };
  const old = replicaSet("old", 8, 2, told);
  const current = replicaSet("new", 5, 1, { ...told, available: 0 });
  assert.deepEqual(sizes(rescale(deployment(20, rolling(6, 2)), current, [old])), { old: 16, new: 10 });
  assert.deepEqual(sizes(rescale(deployment(5, rolling(1, 1)), current, [old])), { old: 4, new: 2 });
  assert.deepEqual(sizes(rescale(deployment(0, rolling(3, 2)), current, [old])), { old: 0, new: 0 });
  const full = replicaSet("new", 4, 1, { desired: 4 });
  assert.deepEqual(sizes(rescale(deployment(4), full, [old])), { old: 0 });
});

test("shares always add up to what is allowed, and none is negative", () => {
  const size = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(size, size, size, size, fc.integer({ min: 0, max: 5 }), (a, b, c, wanted, surge) => {
      const told = { desired: a + b + c, max: a + b + c };
      const sets = [replicaSet("a", a, 3, told), replicaSet("b", b, 2, told)];
      const current = replicaSet("c", c, 1, { ...told, available: 0 });
      const owner = deployment(wanted, rolling(surge, 1));
      const sizings = rescale(owner, current, sets);
      const total = sizings.reduce((sum, { replicas }) => sum + replicas, 0);
      assert.equal(total, wanted + surge);
      assert.ok(sizings.every(({ replicas }) => replicas >= 0));
      assert.equal(specified([...sets, current]), a + b + c);
    }),
  );
});
