import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VIRTUAL_NODE } from "@fjord/api";
import type { DaemonSet, Node, Pod } from "@fjord/kube";
import { daemonAffinity, isStrayDaemonPod } from "./daemon-placement.ts";
import { mayLand } from "./test-scheduling.ts";
import type { Toleration } from "./tolerations.ts";

const daemons = (tolerations: Toleration[], affinity?: object): DaemonSet =>
  ({
    metadata: {},
    spec: { template: { spec: { tolerations, ...(affinity && { affinity }) } } },
  }) as unknown as DaemonSet;
const everything: Toleration = { operator: "Exists" };
const virtual = {
  metadata: { name: "v", labels: { [VIRTUAL_NODE]: "true" } },
  spec: { taints: [{ key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" }] },
} as unknown as Node;
const real = { metadata: { name: "r", labels: {} } } as unknown as Node;

describe("a DaemonSet", () => {
  it("that tolerates everything is kept off virtual nodes, and nowhere else", () => {
    for (const toleration of [everything, { ...everything, effect: "NoSchedule" } as const]) {
      const affinity = daemonAffinity(daemons([toleration]));
      assert.ok(affinity);
      const spec = { containers: [], tolerations: [toleration], affinity };
      const pod = { apiVersion: "v1", kind: "Pod", metadata: {}, spec } as Pod;
      assert.equal(mayLand(pod, virtual), false);
      assert.equal(mayLand(pod, real), true);
      assert.equal(daemonAffinity(daemons([toleration], affinity)), undefined, "done again, it changes nothing");
    }
  });

  it("that names virtual nodes gets them", () => {
    assert.equal(daemonAffinity(daemons([everything, { key: VIRTUAL_NODE, operator: "Exists" }])), undefined);
    assert.equal(daemonAffinity(daemons([{ key: VIRTUAL_NODE, value: "true" }])), undefined);
  });

  it("that the taint keeps away is left as it is", () => {
    assert.equal(daemonAffinity(daemons([])), undefined);
    assert.equal(daemonAffinity(daemons([{ operator: "Exists", effect: "NoExecute" }])), undefined);
    assert.equal(daemonAffinity(daemons([{ key: "gpu", operator: "Exists" }])), undefined);
  });

  it("has stray pods where it did not ask for virtual nodes", () => {
    const ownerReferences = [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u", controller: true }];
    const pod = (tolerations: Toleration[]): Pod =>
      ({ metadata: { ownerReferences }, spec: { containers: [], tolerations } }) as unknown as Pod;
    assert.ok(isStrayDaemonPod(pod([everything])));
    assert.ok(!isStrayDaemonPod(pod([{ key: VIRTUAL_NODE, operator: "Exists" }])));
    assert.ok(!isStrayDaemonPod({ metadata: {}, spec: { containers: [] } } as unknown as Pod));
  });
});
