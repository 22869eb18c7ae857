import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { isToGo, refusedEvictions } from "./evictions.ts";
import { podOf, virtualNodeOf } from "./test-objects.ts";
import { isLate } from "./virtual-node-end.ts";

const owned = (kind: string, controller = true, tolerations: object[] = []): Pod => {
  const given = podOf("a");
  const pod = { ...given, spec: { ...given.spec, tolerations } } as Pod;
  const owner = { apiVersion: "apps/v1", kind, name: "x", uid: "u", controller };
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
};

test("a drain concerns all pods that do not come again at once", () => {
  assert.equal(isToGo(podOf("a")), true);
  assert.equal(isToGo(podOf("a", {}, { phase: "Running" })), true);
  assert.equal(isToGo(podOf("a", {}, { phase: "Succeeded" })), false);
  assert.equal(isToGo(podOf("a", {}, { phase: "Failed" })), false);
  assert.equal(isToGo(owned("ReplicaSet")), true);
  assert.equal(isToGo(owned("DaemonSet")), true);
  const named = [{ key: "fjord.dev/virtual-node", operator: "Exists" }, { key: "node.kubernetes.io/unschedulable" }];
  assert.equal(isToGo(owned("DaemonSet", true, named)), true);
  const all = [{ operator: "Exists" }];
  assert.equal(isToGo(owned("DaemonSet", true, all)), false);
  assert.equal(isToGo(owned("DaemonSet", true, [{ key: "fjord.dev/drained", operator: "Exists" }])), false);
  assert.equal(isToGo(owned("DaemonSet", true, [{ operator: "Exists", effect: "NoExecute" }])), true);
  assert.equal(isToGo(owned("DaemonSet", false, all)), true);
  assert.equal(isToGo(owned("ReplicaSet", true, all)), true);
});

test("the end of a node waits for no pod that came since it began and would come again", () => {
  const ending = virtualNodeOf();
  ending.metadata.deletionTimestamp = "2030-01-01T00:00:10Z";
  const made = (creationTimestamp: string, pod: Pod) => ({ ...pod, metadata: { ...pod.metadata, creationTimestamp } });
  const stubborn = owned("DaemonSet", true, [{ operator: "Exists" }]);
  assert.equal(isLate(made("2030-01-01T00:00:11Z", stubborn), ending), true);
  assert.equal(isLate(made("2030-01-01T00:00:10Z", stubborn), ending), false);
  assert.equal(isLate(made("2030-01-01T00:00:11Z", owned("DaemonSet")), ending), false);
});

test("budgets that refuse are told of, one by its name and several by how many", () => {
  const one = { pod: "shop/a", reason: "the disruption budget web needs 2 healthy pods" };
  assert.equal(refusedEvictions([one]), "shop/a cannot be evicted yet: the disruption budget web needs 2 healthy pods");
  assert.match(
    refusedEvictions([one, { ...one, pod: "shop/b" }]),
    /^2 pods cannot be evicted yet, shop\/a among them: /,
  );
});

test("of the same pods that are refused the same is told, in whatever order the API answered", () => {
  const refused = ["shop/db-1", "shop/db-0", "shop/db-2"].map((pod) => ({ pod, reason: `${pod} is needed` }));
  const told = "3 pods cannot be evicted yet, shop/db-0 among them: shop/db-0 is needed";
  assert.deepEqual([refusedEvictions(refused), refusedEvictions(refused.toReversed())], [told, told]);
});
