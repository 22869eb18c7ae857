import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { type Cache, type KubeClient, type Pod, ReplicaSet } from "@fjord/kube";
import type { ControlMeans } from "../control-loop.ts";
import { OwnedPods } from "./owned-pods.ts";

const kind = { apiVersion: "apps/v1", kind: "ReplicaSet" } as const;
const set: ReplicaSet = { ...kind, metadata: { name: "web", namespace: "shop", uid: "set" } };
const other: ReplicaSet = { ...kind, metadata: { name: "api", namespace: "shop", uid: "other" } };

function pod(uid: string, more: Partial<Pod["metadata"]> = {}): Pod {
  const ownerReferences = [{ ...kind, name: "web", uid: "set", controller: true }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: uid, namespace: "shop", uid, ownerReferences, ...more } };
}

const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function owned(client: Partial<KubeClient> = {}) {
  const owners = { list: () => [set, other] } as unknown as Cache<ReplicaSet>;
  const pods = { byIndex: () => [] } as unknown as Cache<Pod>;
  const means = { clock: new ManualClock(), client } as unknown as ControlMeans;
  const selects = (owner: ReplicaSet, { metadata }: Pod) => metadata.labels?.app === owner.metadata.name;
  return new OwnedPods({ means, teller: { event() {} }, kind: ReplicaSet, owners, pods, selects });
}

test("what was made is waited for until the cache shows it, even where it is going already", async () => {
  const pods = owned({ create: async () => pod("a") } as unknown as KubeClient);
  assert.equal((await pods.create(set, 2, () => pod("a"), AbortSignal.timeout(9999))).made, 2);
  const { onAdd, onUpdate } = pods.observer();
  onAdd?.(pod("a"), { initial: false });
  onUpdate?.(pod("a"), pod("a"));
  assert.equal(pods.expectations.satisfied("set"), false);
  onAdd?.(pod("b", going), { initial: false });
  assert.equal(pods.expectations.satisfied("set"), true);
});

test("what was deleted is waited for until it is going, what could not be is not", async () => {
  const failure = new Error("refused");
  const fails = async (_kind: unknown, { name }: { name: string }) => {
    if (name === "b") throw failure;
  };
  const pods = owned({ delete: fails } as unknown as KubeClient);
  const deleted = await pods.delete(set, [pod("a"), pod("b")], AbortSignal.timeout(9999));
  assert.deepEqual(deleted, { gone: 1, error: failure });
  assert.equal(pods.expectations.satisfied("set"), false);
  pods.observer().onUpdate?.(pod("a"), pod("a", going));
  assert.equal(pods.expectations.satisfied("set"), true);
});

test("a pod concerns its controller; one without, all that select it; one of another kind's, none", () => {
  const request = { name: "web", namespace: "shop" };
  assert.deepEqual([...owned().ownersOf(pod("a", { labels: { app: "api" } }))], [request]);
  const orphan = pod("a", { ownerReferences: [], labels: { app: "api" } });
  assert.deepEqual([...owned().ownersOf(orphan)], [{ name: "api", namespace: "shop" }]);
  const ownerReferences = [{ apiVersion: "batch/v1", kind: "Job", name: "web", uid: "job", controller: true }];
  assert.deepEqual([...owned().ownersOf(pod("a", { ownerReferences, labels: { app: "web" } }))], []);
});
