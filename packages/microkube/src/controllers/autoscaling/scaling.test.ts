import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { type PodUsage, type Question, wantedCount } from "./replica-count.ts";
import { decide, type Situation } from "./scaling-behavior.ts";

const NOW = Date.UTC(2030, 0, 1);
const pod = (name: string, phase = "Running"): Pod =>
  ({
    metadata: { name },
    status: {
      phase,
      startTime: new Date(NOW - 3_600_000).toISOString(),
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: new Date(NOW - 3_500_000).toISOString() }],
    },
  }) as unknown as Pod;
function ask(usages: (number | undefined)[], question: Partial<Question> = {}): number {
  const known = new Map<string, PodUsage>();
  usages.forEach((usage, i) => {
    if (usage !== undefined) known.set(`p${i}`, { usage, at: NOW, windowMs: 30_000 });
  });
  return wantedCount({
    pods: usages.map((_, i) => pod(`p${i}`)),
    usages: known,
    requestOf: () => 1000,
    target: { utilization: 50 },
    current: usages.length,
    isProcessor: true,
    now: NOW,
    ...question,
  }).replicas;
}

test("the count follows usage, and stays where it is near enough", () => {
  assert.equal(ask([500, 500]), 2);
  assert.equal(ask([540, 540]), 2);
  assert.equal(ask([900, 900]), 4);
  assert.equal(ask([100, 100, 100, 100]), 1);
  assert.equal(ask([300, 300], { target: { average: 100 } }), 6);
  assert.throws(() => ask([500], { requestOf: () => undefined }), /missing request/);
  assert.throws(() => ask([undefined]), /did not receive metrics/);
});

test("of pods that nobody knows the usage of the worst is assumed", () => {
  assert.equal(ask([1000, undefined]), 2, "they may use nothing");
  assert.equal(ask([100, 100, undefined]), 3, "they may use all");
});

const situation = (more: Partial<Situation>): Situation => ({
  current: 10,
  wanted: 10,
  least: 1,
  most: 100,
  recommended: [],
  changes: [],
  now: NOW,
  ...more,
});

test("a count grows at most twofold or by four in a quarter of a minute", () => {
  assert.equal(decide(undefined, situation({ wanted: 50 })).replicas, 20);
  assert.equal(decide(undefined, situation({ current: 1, wanted: 50 })).replicas, 5);
  const changes = [{ at: NOW - 5000, replicas: 5 }];
  assert.equal(decide(undefined, situation({ wanted: 50, changes })).replicas, 10);
  const one = { scaleUp: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } };
  assert.equal(decide(one, situation({ wanted: 50 })).replicas, 11);
});

test("it shrinks only when nothing more was recommended for five minutes", () => {
  const recommended = [{ at: NOW - 60_000, replicas: 8 }];
  const slow = decide(undefined, situation({ wanted: 2, recommended }));
  assert.deepEqual([slow.replicas, slow.able.reason], [8, "ScaleDownStabilized"]);
  const old = [{ at: NOW - 400_000, replicas: 8 }];
  assert.equal(decide(undefined, situation({ wanted: 2, recommended: old })).replicas, 2);
  assert.equal(decide({ scaleDown: { selectPolicy: "Disabled" } }, situation({ wanted: 2 })).replicas, 10);
});

test("bounds hold, and are said", () => {
  const most = decide(undefined, situation({ wanted: 15, most: 12 }));
  assert.deepEqual([most.replicas, most.limited.reason], [12, "TooManyReplicas"]);
  const least = decide(undefined, situation({ wanted: 0, least: 3 }));
  assert.deepEqual([least.replicas, least.limited.reason], [3, "TooFewReplicas"]);
  assert.equal(decide(undefined, situation({ wanted: 12 })).limited.reason, "DesiredWithinRange");
});
