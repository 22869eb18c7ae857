import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { podsToDelete } from "./pod-ranking.ts";
import { timestamp } from "./pod-state.ts";

const NOW = Date.UTC(2030, 0, 2);

interface Sketch {
  node?: string;
  phase?: string;
  /** Seconds ago. */
  ready?: number;
  created?: number;
  cost?: string;
  restarts?: number;
}

function pod(
  name: string,
  { node = "n1", phase = "Running", ready, created = 86_400, cost, restarts = 0 }: Sketch,
): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      uid: name,
      creationTimestamp: timestamp(NOW - created * 1000),
      ...(cost && { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } }),
    },
    spec: { nodeName: node, containers: [] },
    status: {
      phase,
      containerStatuses: [{ name: "c", image: "", imageID: "", ready: true, restartCount: restarts }],
      ...(ready !== undefined && {
        conditions: [{ type: "Ready", status: "True", lastTransitionTime: timestamp(NOW - ready * 1000) }],
      }),
    },
  } as Pod;
}

function first(a: Sketch, b: Sketch): string | undefined {
  const pods = [pod("a", a), pod("b", b)];
  return podsToDelete(pods, 1, pods, NOW)[0]?.metadata.name;
}

test("pods that lose least go first", () => {
  assert.equal(first({ ready: 10 }, { node: "" }), "b", "unassigned");
  assert.equal(first({ ready: 10 }, { phase: "Pending" }), "b", "pending");
  assert.equal(first({ phase: "Unknown" }, { phase: "Pending" }), "b", "pending before unknown");
  assert.equal(first({ ready: 10 }, {}), "b", "not ready");
  assert.equal(first({ ready: 10 }, { ready: 10, cost: "-5" }), "b", "cheaper");
  assert.equal(first({ ready: 10, cost: "5" }, { ready: 10 }), "b", "dearer stays");
  assert.equal(first({ ready: 10, cost: "+5" }, { ready: 5000 }), "a", "a cost that is no number counts as none");
  assert.equal(first({ ready: 5000 }, { ready: 10 }), "b", "lately ready");
  assert.equal(first({ ready: 10 }, { ready: 10, restarts: 3 }), "b", "restarted");
  assert.equal(first({ ready: 10, created: 80_000 }, { ready: 10, created: 100 }), "b", "younger");
  assert.equal(first({ ready: 10, created: 100 }, { ready: 10, created: 101 }), "a", "as good as equal: by uid");
});

test("of two on one node, one goes before a single on another", () => {
  const pods = [
    pod("a", { node: "n1", ready: 100 }),
    pod("b", { node: "n2", ready: 9000 }),
    pod("c", { node: "n2", ready: 9000 }),
  ];
  assert.equal(podsToDelete(pods, 1, pods, NOW)[0]?.spec?.nodeName, "n2");
  assert.equal(podsToDelete(pods, 3, pods, NOW).length, 3);
  assert.equal(podsToDelete(pods, 9, pods, NOW).length, 3);
});
