import assert from "node:assert/strict";
import { test } from "node:test";
import type { DaemonSet, Node, Pod } from "@fjord/kube";
import { daemonStatus, placesOf, planPlaces, planUpdate } from "./daemon-plan.ts";
import { fit, forgeDaemonPod, targetNode } from "./daemon-pod.ts";

const NOW = Date.UTC(2030, 0, 1);

function set(rollingUpdate: object = {}, template: object = {}): DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace: "shop", generation: 2 },
    spec: {
      selector: {},
      template: { spec: { containers: [], ...template } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    },
  } as DaemonSet;
}
const node = (name: string, taints: object[] = [], labels = {}): Node =>
  ({ apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: { taints } }) as Node;

/** `n1`: new and ready on n1; `o`: of the old template; `!`: not ready; `-`: going; `x`: failed. */
function place(...sketches: string[]): Map<string, Pod[]> {
  const found = new Map<string, Pod[]>();
  sketches.forEach((sketch, i) => {
    const name = sketch.slice(0, 2);
    const pod = {
      metadata: {
        name: sketch,
        creationTimestamp: new Date(NOW - 100_000 + i * 1000).toISOString(),
        labels: { "controller-revision-hash": sketch.includes("o") ? "old" : "new" },
        ...(sketch.includes("-") && { deletionTimestamp: "x" }),
      },
      status: {
        phase: sketch.includes("x") ? "Failed" : "Running",
        conditions: [{ type: "Ready", status: sketch.includes("!") ? "False" : "True" }],
      },
    } as unknown as Pod;
    found.set(name, [...(found.get(name) ?? []), pod]);
  });
  return found;
}
const nodes = [node("n1"), node("n2"), node("n3")];
const text = ({ create, delete: remove, ended }: ReturnType<typeof planPlaces>) =>
  [
    ...create.map((name) => `+${name}`),
    ...remove.map(({ metadata }) => `-${metadata.name}`),
    ...ended.map(({ metadata }) => `x${metadata.name}`),
  ].join(" ");

test("each node gets one pod", () => {
  const plan = (...pods: string[]) => text(planPlaces(set(), placesOf(set(), nodes, place(...pods)), "new", NOW));
  assert.equal(plan(), "+n1 +n2 +n3");
  assert.equal(plan("n1", "n2!", "n3o"), "");
  assert.equal(plan("n1", "n1", "n2", "n3"), "-n1");
  assert.equal(plan("n1-", "n2", "n3x"), "xn3x");
  assert.equal(plan("n1", "n2", "n3", "n9"), "-n9");
});

test("an update replaces as many as may be missing", () => {
  const update = (rolling: object, ...pods: string[]) =>
    text(planUpdate(set(rolling), placesOf(set(rolling), nodes, place(...pods)), "new", NOW));
  assert.equal(update({}, "n1o", "n2o", "n3o"), "-n1o");
  assert.equal(update({ maxUnavailable: 2 }, "n1o", "n2o", "n3o"), "-n1o -n2o");
  assert.equal(update({}, "n1!", "n2o", "n3o"), "");
  assert.equal(update({}, "n1", "n2o!", "n3o"), "-n2o!");
  assert.equal(update({}, "n2o", "n3o"), "");
});

test("with a surge the new pod comes before the old one goes", () => {
  const surge = { maxSurge: 1, maxUnavailable: 0 };
  const update = (...pods: string[]) =>
    text(planUpdate(set(surge), placesOf(set(surge), nodes, place(...pods)), "new", NOW));
  assert.equal(update("n1o", "n2o", "n3o"), "+n1");
  assert.equal(update("n1o", "n1!", "n2o", "n3o"), "");
  assert.equal(update("n1o", "n1", "n2o", "n3o"), "+n2 -n1o");
});

test("taints and selectors decide where a pod runs and where it may stay", () => {
  const plain = set();
  assert.deepEqual(fit(plain, node("n")), { runs: true, stays: true });
  assert.deepEqual(fit(plain, node("n", [{ key: "a", effect: "NoSchedule" }])), { runs: false, stays: true });
  assert.deepEqual(fit(plain, node("n", [{ key: "a", effect: "NoExecute" }])), { runs: false, stays: false });
  assert.deepEqual(fit(plain, node("n", [{ key: "a", effect: "PreferNoSchedule" }])), { runs: true, stays: true });
  const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
  assert.deepEqual(fit(plain, node("n", [unreachable])), { runs: true, stays: true });
  const picky = set({}, { nodeSelector: { disk: "ssd" } });
  assert.deepEqual(fit(picky, node("n")), { runs: false, stays: false });
  assert.deepEqual(fit(picky, node("n", [], { disk: "ssd" })), { runs: true, stays: true });
});

test("a pod names its node, and the status counts nodes", () => {
  const pod = forgeDaemonPod(set(), "n2", "abc");
  assert.equal(targetNode(pod), "n2");
  assert.equal(pod.spec?.tolerations?.length, 6);
  assert.deepEqual(daemonStatus(set(), placesOf(set(), nodes, place("n1", "n2o!", "n9")), "new", 0, NOW), {
    currentNumberScheduled: 2,
    numberMisscheduled: 1,
    desiredNumberScheduled: 3,
    numberReady: 1,
    observedGeneration: 2,
    updatedNumberScheduled: 1,
    numberAvailable: 1,
    numberUnavailable: 2,
  });
});
