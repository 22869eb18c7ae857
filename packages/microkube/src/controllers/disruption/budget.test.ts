import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodDisruptionBudget } from "@fjord/kube";
import { budgetStatus, expectation, needsScale } from "./budget.ts";

const NOW = Date.UTC(2030, 0, 1);
const budget = (spec: object, status: object = {}): PodDisruptionBudget =>
  ({ metadata: { name: "b", generation: 2 }, spec, status }) as unknown as PodDisruptionBudget;
const pod = (name: string, ready = true): Pod =>
  ({ metadata: { name }, status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] } }) as Pod;

test("what is expected follows from numbers or shares", () => {
  assert.deepEqual(expectation(budget({ minAvailable: 2 }), 5, 0), { expected: 5, desired: 2 });
  assert.deepEqual(expectation(budget({ minAvailable: "50%" }), 3, 5), { expected: 5, desired: 3 });
  assert.deepEqual(expectation(budget({ maxUnavailable: 1 }), 3, 4), { expected: 4, desired: 3 });
  assert.deepEqual(expectation(budget({ maxUnavailable: "30%" }), 3, 10), { expected: 10, desired: 7 });
  assert.deepEqual(expectation(budget({ maxUnavailable: 9 }), 3, 4), { expected: 4, desired: 0 });
  assert.deepEqual([needsScale(budget({ minAvailable: 1 })), needsScale(budget({ maxUnavailable: 1 }))], [false, true]);
});

test("healthy pods beyond those desired may be disrupted", () => {
  const own = budget({ minAvailable: 2 });
  const { status } = budgetStatus(
    own,
    [pod("a"), pod("b"), pod("c"), pod("d", false)],
    { expected: 4, desired: 2 },
    NOW,
  );
  assert.deepEqual([status.disruptionsAllowed, status.currentHealthy, status.observedGeneration], [1, 3, 2]);
  assert.equal(status.conditions?.[0]?.reason, "SufficientPods");
  const none = budgetStatus(own, [pod("a")], { expected: 1, desired: 2 }, NOW).status;
  assert.deepEqual([none.disruptionsAllowed, none.conditions?.[0]?.status], [0, "False"]);
});

test("a pod that was just evicted does not count", () => {
  const at = (ago: number) => new Date(NOW - ago).toISOString();
  const own = budget({ minAvailable: 1 }, { disruptedPods: { a: at(1000), b: at(200_000), gone: at(0) } });
  const { status, untilMs } = budgetStatus(own, [pod("a"), pod("b")], { expected: 2, desired: 1 }, NOW);
  assert.deepEqual(Object.keys(status.disruptedPods ?? {}), ["a"]);
  assert.deepEqual([status.currentHealthy, untilMs], [1, 119_000]);
});
