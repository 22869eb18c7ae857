import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { KubeObject } from "@fjord/base";
import { TestCluster } from "../test-cluster.ts";
import { forbiddenLabels } from "./node-labels.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { requestOf } from "./test-request.ts";

const kubelet = { user: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const plugin = nodeRestriction({ authorize: () => ({ allowed: false, reason: "" }) });
let cluster: TestCluster;

const object = (apiVersion: string, kind: string, metadata: object, more: object = {}) =>
  ({ apiVersion, kind, metadata, ...more }) as KubeObject;
const node = (name = "n1", more: object = {}, metadata: object = {}) =>
  object("v1", "Node", { name, ...metadata }, more);
const pod = (nodeName: string, metadata: object = {}, spec: object = {}) =>
  object("v1", "Pod", { name: "p", namespace: "shop", ...metadata }, { spec: { nodeName, containers: [], ...spec } });

async function ask(target: KubeObject | undefined, given: object = {}): Promise<string | undefined> {
  try {
    await plugin.mutate?.(requestOf(cluster, target, { caller: kubelet, ...given }));
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^.* is forbidden: /, "");
  }
}

beforeEach(() => {
  cluster = new TestCluster();
});

describe("a kubelet", () => {
  it("has no say where others act", async () => {
    assert.equal(await ask(node("n2"), { caller: { user: "jane", groups: [] } }), undefined);
    const nobody = { user: "system:node:", groups: ["system:nodes"] };
    assert.equal(await ask(node(), { caller: nobody }), 'could not determine node from user "system:node:"');
  });

  it("makes and changes its own node, but neither taints nor labels of others' concern", async () => {
    assert.equal(await ask(node()), undefined);
    assert.equal(await ask(node("n2")), 'node "n1" is not allowed to modify node "n2"');
    const labels = { "node-restriction.kubernetes.io/a": "b", "kubernetes.io/os": "linux" };
    assert.equal(
      await ask(node("n1", {}, { labels })),
      'node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/a',
    );
    const tainted = node("n1", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } });
    assert.equal(await ask(node(), { old: tainted }), 'node "n1" is not allowed to modify taints');
    assert.equal(await ask(tainted, { old: tainted }), undefined);
    const labelled = node("n1", {}, { labels: { "x.k8s.io/y": "z" } });
    assert.equal(await ask(labelled, { old: node() }), "is not allowed to modify labels: x.k8s.io/y");
  });

  it("writes the status of its own pods, and nothing else of them", async () => {
    const status = { subresource: "status" };
    assert.equal(await ask(pod("n1"), { old: pod("n1"), ...status }), undefined);
    assert.match(
      (await ask(pod("n2"), { old: pod("n2"), ...status })) ?? "",
      /can only update pod status for pods with/,
    );
    const labelled = pod("n1", { labels: { a: "b" } });
    assert.equal(
      await ask(labelled, { old: pod("n1"), ...status }),
      'node "n1" cannot update labels through pod status',
    );
    assert.match((await ask(pod("n1"), { old: pod("n1") })) ?? "", /can only create and delete mirror pods/);
    assert.match((await ask(pod("n1"), { subresource: "binding" })) ?? "", /unexpected pod subresource "binding"/);
  });

  it("deletes and evicts its own pods", async () => {
    cluster.put(pod("n1"));
    assert.equal(await ask(undefined, { old: pod("n1") }), undefined);
    cluster.put(pod("n2"));
    assert.match(
      (await ask(undefined, { old: pod("n2") })) ?? "",
      /can only delete pods with spec.nodeName set to itself/,
    );
    const eviction = object("policy/v1", "Eviction", { name: "p", namespace: "shop" });
    const type = cluster.types.ofKind("", "Pod");
    assert.match((await ask(eviction, { subresource: "eviction", type })) ?? "", /node n1 can only evict pods/);
  });

  it("shows pods of its own, that refer to nothing", async () => {
    cluster.put(node("n1", {}, { uid: "u" }));
    const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "u", controller: true };
    const annotations = { "kubernetes.io/config.mirror": "x" };
    const mirror = (metadata: object = {}, spec: object = {}) =>
      pod("n1", { annotations, ownerReferences: [owner], ...metadata }, spec);
    assert.equal(await ask(mirror()), undefined);
    assert.match((await ask(pod("n1"))) ?? "", /pod does not have "kubernetes.io\/config.mirror" annotation/);
    assert.match((await ask(mirror({ ownerReferences: [] }))) ?? "", /with an owner reference set to itself/);
    assert.match(
      (await ask(mirror({ ownerReferences: [{ ...owner, uid: "x" }] }))) ?? "",
      /UID mismatch: expected x got u/,
    );
    const volumes = [{ name: "v", secret: { secretName: "s" } }];
    assert.match(
      (await ask(mirror({}, { volumes }))) ?? "",
      /can not create pods that reference secrets \(via secret volumes\)/,
    );
    assert.match((await ask(mirror({}, { serviceAccountName: "a" }))) ?? "", /reference serviceaccounts/);
  });

  it("gets tokens for its own pods, and only those that they mount", async () => {
    const type = cluster.types.ofKind("", "ServiceAccount");
    const token = (boundObjectRef: object | undefined, audiences: string[] = []) =>
      ask(
        object(
          "authentication.k8s.io/v1",
          "TokenRequest",
          { name: "web", namespace: "shop" },
          { spec: { audiences, boundObjectRef } },
        ),
        {
          subresource: "token",
          type,
        },
      );
    const volumes = [{ name: "t", projected: { sources: [{ serviceAccountToken: { path: "t", audience: "db" } }] } }];
    cluster.put(pod("n1", { uid: "u" }, { volumes }));
    const reference = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
    assert.equal(await token(undefined), "node requested token not bound to a pod");
    assert.equal(await token({ ...reference, uid: "" }), "node requested token with a pod binding without a uid");
    assert.equal(await token(reference, ["db"]), undefined);
    assert.equal(
      await token(reference),
      'audience "" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
    );
    cluster.put(pod("n2", { uid: "u" }));
    assert.equal(await token(reference), "node requested token bound to a pod scheduled on a different node");
  });

  it("keeps its own lease", async () => {
    const lease = (name: string, namespace: string) => object("coordination.k8s.io/v1", "Lease", { name, namespace });
    assert.equal(await ask(lease("n1", "kube-node-lease")), undefined);
    assert.match(
      (await ask(lease("n2", "kube-node-lease"))) ?? "",
      /node lease with the same name as the requesting node/,
    );
    assert.match(
      (await ask(lease("n1", "shop"))) ?? "",
      /can only access leases in the "kube-node-lease" system namespace/,
    );
  });
});

it("kubelets set labels of their own domains, and those that they always did", () => {
  const labels = {
    "kubernetes.io/hostname": "a",
    "topology.kubernetes.io/zone": "z",
    "node.kubernetes.io/x": "y",
    "sub.kubelet.kubernetes.io/x": "y",
    plain: "x",
    "example.com/x": "y",
  };
  assert.deepEqual(forbiddenLabels(labels), []);
  assert.deepEqual(forbiddenLabels({}, { "kubernetes.io/role": "x", "a.node-restriction.kubernetes.io/b": "c" }), [
    "a.node-restriction.kubernetes.io/b",
    "kubernetes.io/role",
  ]);
});
