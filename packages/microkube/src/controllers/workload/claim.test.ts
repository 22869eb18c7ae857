import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { claimOf } from "./claim.ts";

const owner = (metadata = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: { name: "web", uid: "1", ...metadata },
});
const pod = (controller?: string, metadata = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "p",
    ...(controller && {
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: controller, controller: true }],
    }),
    ...metadata,
  },
});
const going = { deletionTimestamp: "2030-01-01T00:00:00Z" };

test("an owner takes what matches and belongs to nobody, and lets go of what no longer matches", () => {
  assert.equal(claimOf(pod("1"), owner(), true), "keep");
  assert.equal(claimOf(pod("1"), owner(), false), "release");
  assert.equal(claimOf(pod("2"), owner(), true), "ignore");
  assert.equal(claimOf(pod(), owner(), true), "adopt");
  assert.equal(claimOf(pod(), owner(), false), "ignore");
});

test("what is being deleted is not adopted, and who is being deleted neither adopts nor releases", () => {
  assert.equal(claimOf(pod(undefined, going), owner(), true), "ignore");
  assert.equal(claimOf(pod(), owner(going), true), "ignore");
  assert.equal(claimOf(pod("1"), owner(going), false), "ignore");
  assert.equal(claimOf(pod("1"), owner(going), true), "keep");
});
