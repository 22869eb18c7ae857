import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, Pod, StatefulSet } from "@fjord/kube";
import { claimOwners } from "./claim-owners.ts";

const set = (whenDeleted?: string, whenScaled?: string): StatefulSet =>
  ({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", uid: "s" },
    spec: { replicas: 1, persistentVolumeClaimRetentionPolicy: whenDeleted && { whenDeleted, whenScaled } },
  }) as unknown as StatefulSet;
const pod = (ordinal: number) =>
  ({ apiVersion: "v1", kind: "Pod", metadata: { name: `db-${ordinal}`, uid: `p${ordinal}` } }) as Pod;
const claim = (ownerReferences: object[] = []) =>
  ({ metadata: { name: "data", ownerReferences } }) as unknown as PersistentVolumeClaim;
const names = (owners: { kind: string }[] | undefined) => owners?.map(({ kind }) => kind);

test("a claim belongs to whoever it should go with", () => {
  assert.equal(claimOwners(claim(), set(), pod(0)), undefined);
  assert.deepEqual(names(claimOwners(claim(), set("Delete", "Retain"), pod(0))), ["StatefulSet"]);
  assert.equal(claimOwners(claim(), set("Retain", "Delete"), pod(0)), undefined);
  assert.deepEqual(names(claimOwners(claim(), set("Retain", "Delete"), pod(3))), ["Pod"]);
  const both = claimOwners(claim(), set("Delete", "Delete"), pod(0));
  assert.deepEqual(names(both), ["StatefulSet"]);
  assert.equal(claimOwners(claim(both), set("Delete", "Delete"), pod(0)), undefined);
  assert.deepEqual(names(claimOwners(claim(both), set("Delete", "Delete"), pod(3))), ["Pod"]);
  assert.deepEqual(claimOwners(claim(both), set(), pod(0)), []);
});

test("a claim of somebody else's is left alone", () => {
  const stale = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "before" }];
  assert.equal(claimOwners(claim(stale), set("Delete", "Delete"), pod(0)), undefined);
  const others = [{ apiVersion: "v1", kind: "Thing", name: "t", uid: "t", controller: true }];
  assert.equal(claimOwners(claim(others), set("Delete", "Delete"), pod(0)), undefined);
});
