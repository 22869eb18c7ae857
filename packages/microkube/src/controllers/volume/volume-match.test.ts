import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, PersistentVolume, PersistentVolumeClaim } from "@fjord/kube";
import { bestVolume, isReservedFor, mismatch } from "./volume-match.ts";

const volume = (name: string, storage: string, spec: object = {}, phase = "Available"): PersistentVolume =>
  ({
    metadata: { name, labels: { name } },
    spec: { capacity: { storage }, accessModes: ["ReadWriteOnce"], storageClassName: "slow", ...spec },
    status: { phase },
  }) as unknown as PersistentVolume;
const claim = (storage: string, spec: object = {}): PersistentVolumeClaim =>
  ({
    metadata: { name: "c", namespace: "shop", uid: "u" },
    spec: {
      resources: { requests: { storage } },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "slow",
      ...spec,
    },
  }) as unknown as PersistentVolumeClaim;

test("the smallest that is large enough is taken", () => {
  const volumes = [volume("a", "5Gi"), volume("b", "1Gi"), volume("c", "2Gi"), volume("d", "2Gi", {}, "Bound")];
  assert.equal(bestVolume(volumes, claim("1500Mi"))?.metadata.name, "c");
  assert.equal(bestVolume(volumes, claim("9Gi")), undefined);
  assert.equal(bestVolume(volumes, claim("1Gi", { selector: { matchLabels: { name: "a" } } }))?.metadata.name, "a");
});

test("a volume that is meant for a claim is for it alone", () => {
  const claimRef = { namespace: "shop", name: "c" };
  const mine = volume("mine", "9Gi", { claimRef });
  assert.equal(bestVolume([volume("b", "1Gi"), mine], claim("1Gi"))?.metadata.name, "mine");
  const others = volume("x", "1Gi", { claimRef: { ...claimRef, uid: "other" } });
  assert.equal(isReservedFor(others, claim("1Gi")), false);
  assert.equal(bestVolume([others], claim("1Gi")), undefined);
});

test("class, modes and place have to fit", () => {
  assert.equal(
    mismatch(volume("a", "1Gi"), claim("1Gi", { storageClassName: "fast" })),
    "storageClassName does not match",
  );
  assert.equal(
    mismatch(volume("a", "1Gi"), claim("1Gi", { accessModes: ["ReadWriteMany"] })),
    "incompatible accessMode",
  );
  assert.equal(mismatch(volume("a", "1Gi"), claim("1Gi", { volumeMode: "Block" })), "incompatible volumeMode");
  const nodeSelectorTerms = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }];
  const local = volume("a", "1Gi", { nodeAffinity: { required: { nodeSelectorTerms } } });
  const node = (zone: string) => ({ metadata: { name: "n", labels: { zone } } }) as unknown as Node;
  assert.equal(bestVolume([local], claim("1Gi"), node("a")), local);
  assert.equal(bestVolume([local], claim("1Gi"), node("b")), undefined);
});
