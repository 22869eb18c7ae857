import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { timestamp } from "../workload/pod-state.ts";
import { replicaStatus } from "./replica-status.ts";

const NOW = Date.UTC(2030, 0, 2);
const spec = { replicas: 3, minReadySeconds: 10, template: { metadata: { labels: { app: "web", v: "2" } } } };
const pod = (readySecondsAgo?: number, labels: Record<string, string> = { app: "web", v: "2" }): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { labels },
  status:
    readySecondsAgo === undefined
      ? {}
      : {
          conditions: [{ type: "Ready", status: "True", lastTransitionTime: timestamp(NOW - readySecondsAgo * 1000) }],
        },
});

test("pods are counted by what they are", () => {
  const active = [pod(), pod(5), pod(10), pod(60, { app: "web" })];
  assert.deepEqual(replicaStatus(spec, undefined, { active, terminating: 2, generation: 4, now: NOW }), {
    replicas: 4,
    fullyLabeledReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 2,
    terminatingReplicas: 2,
    observedGeneration: 4,
  });
});

test("a failure becomes a condition, stays as it was first said, and goes when all is well", () => {
  const observed = { active: [pod()], generation: 1, now: NOW };
  const failed = replicaStatus(spec, undefined, { ...observed, failure: "no quota" });
  const condition = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "no quota" };
  assert.deepEqual(failed.conditions, [{ ...condition, lastTransitionTime: timestamp(NOW) }]);
  const still = replicaStatus(spec, failed, { ...observed, now: NOW + 60_000, failure: "no quota at all" });
  assert.deepEqual(still.conditions, failed.conditions);
  assert.equal(replicaStatus(spec, failed, observed).conditions, undefined);
  const tooMany = { ...observed, active: [1, 2, 3, 4].map(() => pod()), failure: "forbidden" };
  assert.equal(replicaStatus(spec, undefined, tooMany).conditions?.[0]?.reason, "FailedDelete");
});
