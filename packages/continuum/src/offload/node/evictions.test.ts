import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { isToGo } from "./evictions.ts";
import { podOf } from "./test-objects.ts";

const owned = (kind: string, controller = true): Pod => {
  const pod = podOf("a");
  const owner = { apiVersion: "apps/v1", kind, name: "x", uid: "u", controller };
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
};

test("a drain concerns the pods that kubectl would evict", () => {
  assert.equal(isToGo(podOf("a")), true);
  assert.equal(isToGo(podOf("a", {}, { phase: "Running" })), true);
  assert.equal(isToGo(podOf("a", {}, { phase: "Succeeded" })), false);
  assert.equal(isToGo(podOf("a", {}, { phase: "Failed" })), false);
  assert.equal(isToGo(owned("ReplicaSet")), true);
  assert.equal(isToGo(owned("DaemonSet")), false);
  assert.equal(isToGo(owned("DaemonSet", false)), true);
});
