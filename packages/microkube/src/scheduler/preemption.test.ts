import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod, PodDisruptionBudget } from "@fjord/kube";
import { chooseNode } from "./choose-node.ts";
import { ClusterState } from "./cluster-state.ts";
import { defaultPlugins as plugins } from "./plugins/index.ts";
import { podFacts } from "./pod-facts.ts";
import { preempt } from "./preemption.ts";
import { testNode, testPod } from "./test-objects.ts";

const lookups = {
  namespace: () => undefined,
  claim: () => undefined,
  volume: () => undefined,
  volumes: () => [],
  storageClass: () => undefined,
};

function victims(pod: Pod, nodes: string[], pods: Pod[], budgets: PodDisruptionBudget[] = []) {
  const state = new ClusterState(lookups);
  for (const node of nodes) state.setNode(testNode(node));
  for (const one of pods) state.setPod(one);
  const facts = podFacts(pod);
  const snapshot = state.snapshot(facts);
  const choice = chooseNode(facts, snapshot, { plugins, random: () => 0 });
  assert.ok(choice.node === undefined, "there is room");
  const preemption = preempt(facts, snapshot, choice.failure, { plugins, budgets });
  if (preemption.node === undefined) return preemption.message;
  return `${preemption.node.name}: ${preemption.victims.map(({ name }) => name).join(" ")}`;
}

const on = (node: string, name: string, cpu: string, priority: number, labels = { app: name }): Pod =>
  testPod(name, { cpu, priority, nodeName: node, labels });
const important = testPod("p", { cpu: "1", priority: 100 });
const budget = (app: string, disruptionsAllowed: number): PodDisruptionBudget => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: app, namespace: "default" },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
});

describe("pods that make room", () => {
  it("are of lesser priority, and no more than needed", () => {
    assert.equal(
      victims(important, ["a"], [on("a", "x", "500m", 1), on("a", "y", "600m", 2), on("a", "z", "800m", 3)]),
      "a: y x",
    );
    assert.equal(victims(important, ["a"], [on("a", "x", "1", 1), on("a", "y", "1", 2)]), "a: x");
  });

  it("are none where all matter as much", () => {
    const message = "0/1 nodes are available: 1 No preemption victims found for incoming pod.";
    assert.equal(victims(important, ["a"], [on("a", "x", "2", 100)]), message);
  });

  it("are none where it would not help, or the pod does not want any to go", () => {
    const large = testPod("p", { cpu: "3", priority: 100 });
    assert.equal(
      victims(large, ["a"], [on("a", "x", "2", 1)]),
      "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    );
    const patient = testPod("p", { cpu: "1", priority: 100, preemptionPolicy: "Never" });
    assert.equal(victims(patient, ["a"], [on("a", "x", "2", 1)]), "not eligible due to preemptionPolicy=Never.");
  });

  it("are where they matter least", () => {
    assert.equal(victims(important, ["a", "b"], [on("a", "x", "2", 50), on("b", "y", "2", 5)]), "b: y");
  });

  it("are where no disruption budget stands against it", () => {
    const pods = [on("a", "x", "2", 1), on("b", "y", "2", 50)];
    assert.equal(victims(important, ["a", "b"], pods, [budget("x", 0)]), "b: y");
    assert.equal(victims(important, ["a", "b"], pods, [budget("x", 1)]), "a: x");
  });
});
