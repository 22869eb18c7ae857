import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, StatefulSet } from "@fjord/kube";
import { planPods, statefulStatus } from "./stateful-plan.ts";
import { forgeClaims, forgeStatefulPod, ordinalOf } from "./stateful-pod.ts";

const NOW = Date.UTC(2030, 0, 1);
const revisions = { current: "web-1", update: "web-2" };

function set(replicas: number, spec: object = {}, metadata: object = {}): StatefulSet {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "shop", generation: 3, ...metadata },
    spec: { replicas, serviceName: "web", selector: { matchLabels: { app: "web" } }, template: {}, ...spec },
  } as StatefulSet;
}

/** `0`: ready and current; `0u`: of the new revision; `!`: not ready; `-`: going; `x`: failed. */
function pods(...sketches: string[]): Pod[] {
  return sketches.map((sketch) => {
    const name = `web-${Number.parseInt(sketch, 10)}`;
    const ready = !/[!x]/.test(sketch);
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        labels: { "controller-revision-hash": sketch.includes("u") ? "web-2" : "web-1" },
        ...(sketch.includes("-") && { deletionTimestamp: "2030-01-01T00:00:00Z" }),
      },
      status: {
        phase: sketch.includes("x") ? "Failed" : "Running",
        conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: "2029-01-01T00:00:00Z" }],
      },
    } as Pod;
  });
}
function plan(owner: StatefulSet, ...sketches: string[]): string {
  const { create, delete: remove } = planPods(owner, pods(...sketches), revisions, NOW);
  const made = create.map(({ ordinal, revision }) => `+${ordinal}${revision === "web-2" ? "u" : ""}`);
  return [...made, ...remove.map(({ metadata }) => `-${metadata.name?.slice(4)}`)].join(" ");
}
const parallel = { podManagementPolicy: "Parallel" };
const onDelete = { updateStrategy: { type: "OnDelete" } };

test("as many as a number can say are begun with a few, and gone on with", () => {
  const all = set(2 ** 31 - 1, parallel);
  const first = planPods(all, [], revisions, NOW);
  assert.deepEqual([first.create.length, first.create.at(-1)?.ordinal], [500, 499]);
  const made = pods(...first.create.map(({ ordinal }) => `${ordinal}u`));
  assert.deepEqual(planPods(all, made, revisions, NOW).create[0]?.ordinal, 500);
});

test("in order, a pod comes when the one before is available", () => {
  assert.equal(plan(set(3)), "+0u");
  assert.equal(plan(set(3), "0u!"), "");
  assert.equal(plan(set(3), "0u"), "+1u");
  assert.equal(plan(set(3), "0u", "2u"), "+1u");
  assert.equal(plan(set(3), "0u", "1u-"), "");
  assert.equal(plan(set(3), "0u", "1ux"), "-1");
});

test("in parallel, all come and go at once", () => {
  assert.equal(plan(set(3, parallel)), "+0u +1u +2u");
  assert.equal(plan(set(1, parallel), "0u!", "1u", "2u"), "-2 -1");
  assert.equal(plan(set(2, parallel), "0ux"), "+1u -0");
});

test("in order, pods go from the last, one at a time, and none while another is not well", () => {
  assert.equal(plan(set(1), "0u", "1u", "2u"), "-2");
  assert.equal(plan(set(1), "0u", "1u", "2u-"), "");
  assert.equal(plan(set(1), "0u!", "1u", "2u"), "");
  assert.equal(plan(set(1), "0u", "1u!", "2u"), "-2");
  assert.equal(plan(set(0), "0u!"), "-0");
  assert.equal(plan(set(2, { ordinals: { start: 3 } }), "0u", "3u", "4u"), "-0");
});

test("an update goes from the last, and waits for each", () => {
  assert.equal(plan(set(3), "0", "1", "2"), "-2");
  assert.equal(plan(set(3), "0", "1", "2u!"), "");
  assert.equal(plan(set(3), "0", "1", "2u"), "-1");
  assert.equal(plan(set(3), "0u", "1u", "2u"), "");
  assert.equal(plan(set(3, onDelete), "0", "1", "2"), "");
  const partition = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } };
  assert.equal(plan(set(3, partition), "0", "1", "2"), "-2");
  assert.equal(plan(set(3, partition), "0", "1", "2u"), "");
  assert.equal(plan(set(3, partition), "0"), "+1");
  assert.equal(plan(set(3, partition), "0", "1"), "+2u");
  const two = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } } };
  assert.equal(plan(set(3, two), "0", "1", "2"), "-2 -1");
});

test("one that is being deleted does nothing", () => {
  assert.equal(plan(set(3, {}, { deletionTimestamp: "2030-01-01T00:00:00Z" }), "0"), "");
});

test("a pod has its name, its number and its volumes", () => {
  const claims = { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] };
  const pod = forgeStatefulPod(set(2, claims), { spec: { containers: [] } }, "web-2", 1);
  assert.equal(pod.metadata.name, "web-1");
  assert.equal(pod.metadata.labels?.["apps.kubernetes.io/pod-index"], "1");
  assert.deepEqual(pod.spec?.volumes, [{ name: "data", persistentVolumeClaim: { claimName: "data-web-1" } }]);
  assert.deepEqual([pod.spec?.hostname, pod.spec?.subdomain], ["web-1", "web"]);
  assert.equal(ordinalOf(pod, set(2)), 1);
  assert.deepEqual(forgeClaims(set(2, claims), 1)[0]?.metadata.labels, { app: "web" });
});

test("the status counts by revision, and an update that is through is the current one", () => {
  const half = statefulStatus(set(3), pods("0", "1!", "2u"), revisions, 0, NOW);
  assert.deepEqual(half, {
    observedGeneration: 3,
    replicas: 3,
    readyReplicas: 2,
    availableReplicas: 2,
    currentReplicas: 2,
    updatedReplicas: 1,
    currentRevision: "web-1",
    updateRevision: "web-2",
    collisionCount: 0,
  });
  const whole = statefulStatus(set(3), pods("0u", "1u", "2u"), revisions, 0, NOW);
  assert.deepEqual([whole.currentRevision, whole.currentReplicas], ["web-2", 3]);
});
