import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, Pod, ReplicaSet, StatefulSet } from "@fjord/kube";
import { isRolledOut, newestPods, rolloutProgress } from "./rollout.ts";

const REVISION = "deployment.kubernetes.io/revision";

const web = (status: object, replicas = 8): Deployment =>
  ({
    metadata: { name: "web", uid: "u-1", generation: 2, annotations: { [REVISION]: "2" } },
    spec: { replicas },
    status,
  }) as unknown as Deployment;

const set = (hash: string, revision: string, owner = "u-1"): ReplicaSet =>
  ({
    metadata: {
      labels: { "pod-template-hash": hash },
      annotations: { [REVISION]: revision },
      ownerReferences: [{ uid: owner }],
    },
  }) as unknown as ReplicaSet;

const pod = (labels: Record<string, string>, ready: boolean, nodeName?: string, going = false): Pod =>
  ({
    metadata: { labels, ...(going && { deletionTimestamp: "2030-01-01T00:00:00Z" }) },
    spec: { nodeName },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  }) as unknown as Pod;

const several = (count: number, one: Pod) => Array.from({ length: count }, () => one);
const sets = [set("old", "1"), set("new", "2"), set("others", "2", "u-2")];

test("old pods that are ready are no new ones", () => {
  const status = { replicas: 10, updatedReplicas: 4, readyReplicas: 6 };
  const pods = [
    ...several(6, pod({ "pod-template-hash": "old" }, true, "home-1")),
    ...several(4, pod({ "pod-template-hash": "new" }, false)),
  ];
  assert.equal(
    rolloutProgress(web(status), sets, pods),
    "0 of 8 new pods are ready, waiting for a node: 4, old ones left: 6",
  );
  assert.equal(isRolledOut(web(status)), false);
});

test("new pods count where the old ones are lost with their site", () => {
  const pods = [
    ...several(8, pod({ "pod-template-hash": "old" }, false, "away")),
    ...several(2, pod({ "pod-template-hash": "new" }, true, "home-1")),
    pod({ "pod-template-hash": "new" }, true, "home-1", true),
  ];
  const status = { replicas: 10, updatedReplicas: 2, readyReplicas: 2 };
  assert.equal(
    rolloutProgress(web(status), sets, pods),
    "2 of 8 new pods are ready, old ones left: 8",
    "one that is going is no new one",
  );
});

test("a StatefulSet's newest pods are those of its newest revision", () => {
  const workload = {
    metadata: { name: "db", uid: "u-3" },
    spec: { replicas: 2 },
    status: { replicas: 2, updatedReplicas: 1, readyReplicas: 1, updateRevision: "db-2" },
  } as unknown as StatefulSet;
  const pods = [
    pod({ "controller-revision-hash": "db-2" }, false, "away"),
    pod({ "controller-revision-hash": "db-1" }, true, "home-1"),
  ];
  assert.equal(newestPods(workload, [], pods).length, 1);
  assert.equal(rolloutProgress(workload, [], pods), "0 of 2 new pods are ready, old ones left: 1");
});

test("before the controller has made a set of the newest template, nothing is new", () => {
  const pods = several(8, pod({ "pod-template-hash": "old" }, true, "home-1"));
  assert.deepEqual(newestPods(web({ replicas: 8 }), [set("old", "1")], pods), []);
});
