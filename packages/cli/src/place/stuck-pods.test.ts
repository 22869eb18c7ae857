import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, Pod, StatefulSet } from "@fjord/kube";
import { stuckPods } from "./stuck-pods.ts";

const set = (updateStrategy?: object): StatefulSet =>
  ({
    metadata: { name: "db", uid: "u-1" },
    spec: { replicas: 3, updateStrategy },
    status: { replicas: 3, updateRevision: "db-new" },
  }) as unknown as StatefulSet;

const pod = (name: string, hash: string, nodeName?: string, more: object = {}): Pod =>
  ({
    metadata: {
      name,
      labels: { "controller-revision-hash": hash },
      ownerReferences: [{ uid: "u-1" }],
      ...more,
    },
    spec: { ...(nodeName && { nodeName }) },
  }) as unknown as Pod;

const names = (workload: StatefulSet, ...pods: Pod[]) => stuckPods(workload, pods).map(({ metadata }) => metadata.name);

test("a pod of an older template that no node has taken holds a StatefulSet up", () => {
  assert.deepEqual(names(set(), pod("db-0", "db-old", "home-1"), pod("db-1", "db-old")), ["db-1"]);
});

test("pods that run, are new, are going, or are others' hold nothing up", () => {
  const going = { deletionTimestamp: "2030-01-01T00:00:00Z" };
  const others = { ownerReferences: [{ uid: "u-2" }] };
  assert.deepEqual(
    names(
      set(),
      pod("db-0", "db-old", "home-1"),
      pod("db-1", "db-new"),
      pod("db-2", "db-old", undefined, going),
      pod("db-3", "db-old", undefined, others),
    ),
    [],
  );
});

test("what its owner keeps back from a rollout is left alone", () => {
  const partition = set({ type: "RollingUpdate", rollingUpdate: { partition: 2 } });
  assert.deepEqual(names(partition, pod("db-1", "db-old"), pod("db-2", "db-old")), ["db-2"]);
  assert.deepEqual(names(set({ type: "OnDelete" }), pod("db-1", "db-old")), []);
  const deployment = { metadata: { uid: "u-1" }, spec: { replicas: 1 }, status: {} } as unknown as Deployment;
  assert.deepEqual(stuckPods(deployment, [pod("web-1", "x")]), [], "a Deployment ends such pods itself");
});
