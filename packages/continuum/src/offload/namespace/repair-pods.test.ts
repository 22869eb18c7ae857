import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Offloading, VIRTUAL_NODE } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { placementOf } from "../admission/pod-placement.ts";
import { recallOf, repairOf as repair } from "./repair-pods.ts";

const offloading = (spec: Partial<Offloading["spec"]>): Offloading =>
  newObject(Offloading, {
    metadata: { name: "offloading", namespace: "shop", creationTimestamp: "2026-01-01T00:00:10Z" },
    spec,
  });
const owned = {
  ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u", controller: true }],
};
const pod = (spec: object = {}, metadata: object = {}, phase = "Pending"): Pod =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { creationTimestamp: "2026-01-01T00:00:10Z", ...metadata },
    spec: { containers: [], ...spec },
    status: { phase },
  }) as Pod;
const repairOf = (pod: Pod, offloading: Offloading) => repair(pod, offloading, (node) => node === "wave");
const selected = { sites: { matchLabels: { zone: "a" } } };

describe("a pod that came to be before admission knew of its namespace", () => {
  it("is let onto virtual nodes where that is all", () => {
    const own = { key: "gpu", operator: "Exists" as const };
    const virtual = { key: VIRTUAL_NODE, operator: "Exists", effect: "NoSchedule" };
    assert.deepEqual(repairOf(pod(), offloading({ pods: "Both" })), { tolerations: [virtual] });
    assert.deepEqual(repairOf(pod({ tolerations: [own] }), offloading({ pods: "Both" })), {
      tolerations: [own, virtual],
    });
  });

  it("is made again where it must not stay, and somebody makes it", () => {
    assert.equal(repairOf(pod({}, owned), offloading({ pods: "Remote" })), "recreate");
    assert.equal(repairOf(pod({ nodeName: "real" }, owned), offloading({ pods: "Remote" })), "recreate");
    assert.equal(repairOf(pod({}, owned), offloading({ pods: "Both", ...selected })), "recreate");
  });

  it("has its owner told where nobody makes it again", () => {
    assert.equal(repairOf(pod(), offloading({ pods: "Remote" })), "tell");
  });

  it("is left alone where it runs, was there before, may be here, or is as it should be", () => {
    assert.equal(repairOf(pod({}, owned, "Running"), offloading({ pods: "Remote" })), "nothing");
    const earlier = { ...owned, creationTimestamp: "2026-01-01T00:00:09Z" };
    assert.equal(repairOf(pod({ nodeName: "real" }, earlier), offloading({ pods: "Remote" })), "nothing");
    assert.equal(repairOf(pod({ nodeName: "real" }, owned), offloading({ pods: "Both" })), "nothing");
    assert.equal(repairOf(pod(), offloading({ pods: "Both", ...selected })), "nothing");
    assert.equal(repairOf(pod(), offloading({ pods: "Local" })), "nothing");
    const remote = offloading({ pods: "Remote" });
    for (const metadata of [{}, owned]) assert.equal(repairOf(pod({ nodeName: "wave" }, metadata), remote), "nothing");
    assert.equal(repairOf(pod({ ...placementOf(pod(), remote.spec) }, owned), remote), "nothing");
    assert.equal(repairOf(pod({}, { ...owned, deletionTimestamp: "2026-01-01T00:00:10Z" }), remote), "nothing");
  });
});

describe("a pod without a node whose namespace is no longer offloaded", () => {
  const letOut = { ...placementOf(pod(), offloading({ pods: "Both" }).spec) };

  it("is made again where somebody makes it, and its owner is told where nobody does", () => {
    assert.equal(recallOf(pod(letOut, owned)), "recreate");
    assert.equal(recallOf(pod(letOut)), "tell");
  });

  it("is left alone where it cannot leave, goes, has its node or is a DaemonSet's", () => {
    const [owner] = owned.ownerReferences;
    assert.equal(recallOf(pod({}, owned)), "nothing");
    assert.equal(recallOf(pod({ tolerations: [{ operator: "Exists" }] }, owned)), "nothing");
    assert.equal(recallOf(pod(letOut, { ...owned, deletionTimestamp: "2026-01-01T00:00:10Z" })), "nothing");
    assert.equal(recallOf(pod({ ...letOut, nodeName: "real" }, owned)), "nothing");
    assert.equal(recallOf(pod(letOut, { ownerReferences: [{ ...owner, kind: "DaemonSet" }] })), "nothing");
  });
});
