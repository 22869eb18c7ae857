import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim } from "@fjord/kube";
import { persistentDirectoryOf } from "./persistent-volume.ts";
import { MemoryObjects } from "./testing/memory-objects.ts";
import { testPod } from "./testing/pods.ts";

const node = { name: "node-1", labels: { zone: "a" } };
const claimed = { name: "data", persistentVolumeClaim: { claimName: "mine" } };

function bound(name: string, parts: { claim?: Partial<PersistentVolumeClaim>; spec?: PersistentVolume["spec"] }) {
  const objects = new MemoryObjects();
  objects.claims.set(`test/${name}`, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "test", uid: "claim-uid" },
    spec: { volumeName: "disk" },
    status: { phase: "Bound" },
    ...parts.claim,
  });
  objects.persistentVolumes.set("disk", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "disk" },
    spec: { claimRef: { uid: "claim-uid" }, local: { path: "/disks/1" }, ...parts.spec },
  });
  return objects;
}

const find = (objects: MemoryObjects, volume: Parameters<typeof persistentDirectoryOf>[0] = claimed) =>
  persistentDirectoryOf(volume, testPod(), objects, node);

test("a claim leads to the directory of its volume", async () => {
  const base = { name: "disk", hostPathType: "", readOnly: false };
  assert.deepEqual(await find(bound("mine", {})), { ...base, path: "/disks/1", kind: "local" });
  const hostPath = bound("mine", {
    spec: { claimRef: { uid: "claim-uid" }, local: undefined as never, hostPath: { path: "/h", type: "Directory" } },
  });
  assert.deepEqual(await find(hostPath), { ...base, path: "/h", kind: "hostPath", hostPathType: "Directory" });
  const readOnly = { name: "data", persistentVolumeClaim: { claimName: "mine", readOnly: true } };
  assert.equal((await find(bound("mine", {}), readOnly)).readOnly, true);
});

test("an ephemeral volume has a claim of the pod's own", async () => {
  const ephemeral = { name: "data", ephemeral: {} };
  const owner = { apiVersion: "v1", kind: "Pod", name: "web", uid: testPod().metadata.uid as string, controller: true };
  const metadata = { name: "web-data", namespace: "test", uid: "claim-uid" };
  const owned = bound("web-data", { claim: { metadata: { ...metadata, ownerReferences: [owner] } } });
  assert.equal((await find(owned, ephemeral)).path, "/disks/1");
  await assert.rejects(find(bound("web-data", {}), ephemeral), {
    message: 'persistentvolumeclaim "web-data" was not created for this pod',
  });
});

test("what cannot be used is told with its reason", async () => {
  const claimRef = { uid: "claim-uid" };
  const affinity = (zone: string) => ({
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In" as const, values: [zone] }] }] },
  });
  const cases: [MemoryObjects, RegExp][] = [
    [new MemoryObjects(), /"mine" not found/],
    [bound("mine", { claim: { status: { phase: "Pending" } } }), /"mine" is not bound/],
    [bound("mine", { claim: { spec: {} } }), /"mine" is not bound/],
    [
      bound("mine", {
        claim: { metadata: { name: "mine", uid: "claim-uid", deletionTimestamp: "2026-01-01T00:00:00Z" } },
      }),
      /"mine" is being deleted/,
    ],
    [bound("mine", { claim: { spec: { volumeName: "other" } } }), /"other" not found/],
    [bound("mine", { spec: { claimRef: { uid: "someone" }, local: { path: "/d" } } }), /bound to another claim/],
    [bound("mine", { spec: { claimRef, local: { path: "/d" }, volumeMode: "Block" } }), /raw block device/],
    [bound("mine", { spec: { claimRef, local: { path: "/d" }, nodeAffinity: affinity("b") } }), /node affinity/],
    [bound("mine", { spec: { claimRef, local: { path: "d/../e" } } }), /must be absolute/],
    [
      bound("mine", { spec: { claimRef, local: undefined as never, nfs: { server: "x", path: "/" } } }),
      /only local and hostPath/,
    ],
  ];
  for (const [objects, message] of cases) await assert.rejects(find(objects), { message });
  const fitting = bound("mine", { spec: { claimRef, local: { path: "/d" }, nodeAffinity: affinity("a") } });
  assert.equal((await find(fitting)).path, "/d");
});
