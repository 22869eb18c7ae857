import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Pod } from "@fjord/kube";
import type { Caller } from "../cluster.ts";
import { TestCluster } from "../test-cluster.ts";
import type { Attributes } from "./authorizer.ts";
import { bootstrapObjects } from "./bootstrap-objects.ts";
import { ClusterAuthorizer } from "./cluster-authorizer.ts";

const apiVersion = "rbac.authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";

const ask = (
  verb: string,
  what: string,
  place: { group?: string; name?: string; namespace?: string } = {},
): Attributes => {
  const [resource = "", subresource = ""] = what.split("/");
  return { verb, group: "", version: "v1", resource, subresource, namespace: "", name: "", ...place };
};
const role = (name: string, namespace: string | undefined, verbs: string[], resources: string[]) => ({
  apiVersion,
  kind: namespace === undefined ? "ClusterRole" : "Role",
  metadata: { name, ...(namespace && { namespace }) },
  rules: [{ apiGroups: [""], resources, verbs }],
});
const binding = (name: string, namespace: string | undefined, kind: string, of: string, ...subjects: object[]) => ({
  apiVersion,
  kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
  metadata: { name, ...(namespace && { namespace }) },
  roleRef: { apiGroup, kind, name: of },
  subjects,
});

describe("roles", () => {
  let cluster: TestCluster;
  let authorizer: ClusterAuthorizer;
  const jane: Caller = { user: "jane", groups: ["dev", "system:authenticated"] };

  beforeEach(() => {
    cluster = new TestCluster();
    authorizer = new ClusterAuthorizer(cluster);
    authorizer.follow();
  });

  const may = (caller: Caller, attributes: Attributes) => authorizer.authorize(caller, attributes).allowed;

  it("allow nothing where there are none, except to masters", () => {
    assert.deepEqual(authorizer.authorize(jane, ask("get", "pods")), { allowed: false, reason: "" });
    assert.ok(may({ user: "root", groups: ["system:masters"] }, ask("get", "pods")));
  });

  it("hold in their namespace, and ClusterRoles where they are bound", () => {
    cluster.put(role("reader", "shop", ["get"], ["pods"]));
    cluster.put(role("lister", undefined, ["list"], ["pods"]));
    cluster.put(binding("a", "shop", "Role", "reader", { kind: "User", name: "jane", apiGroup }));
    cluster.put(binding("b", "shop", "ClusterRole", "lister", { kind: "Group", name: "dev", apiGroup }));
    assert.ok(may(jane, ask("get", "pods", { namespace: "shop" })));
    assert.ok(may(jane, ask("list", "pods", { namespace: "shop" })));
    assert.ok(!may(jane, ask("get", "pods", { namespace: "other" })));
    assert.ok(!may(jane, ask("list", "pods")));
    assert.ok(!may({ user: "jim", groups: [] }, ask("get", "pods", { namespace: "shop" })));
    cluster.put(binding("c", undefined, "ClusterRole", "lister", { kind: "Group", name: "dev", apiGroup }));
    assert.ok(may(jane, ask("list", "pods")));
    assert.ok(may(jane, ask("list", "pods", { namespace: "other" })));
  });

  it("say which of them has allowed it", () => {
    cluster.put(role("reader", "shop", ["get"], ["pods"]));
    const web = { kind: "ServiceAccount", name: "web", namespace: "shop" };
    cluster.put(binding("a", "shop", "Role", "reader", web));
    const caller = { user: "system:serviceaccount:shop:web", groups: [] };
    assert.deepEqual(authorizer.authorize(caller, ask("get", "pods", { namespace: "shop" })), {
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "a/shop" of Role "reader" to ServiceAccount "web/shop"',
    });
  });

  it("that are bound and not there are told", () => {
    cluster.put(binding("a", undefined, "ClusterRole", "x", { kind: "User", name: "jane", apiGroup }));
    assert.deepEqual(authorizer.authorize(jane, ask("get", "pods")), {
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
    });
  });

  it("are followed as they change", () => {
    const bound = binding("a", "shop", "Role", "reader", { kind: "User", name: "jane", apiGroup });
    const here = ask("get", "pods", { namespace: "shop" });
    cluster.put(bound);
    assert.ok(!may(jane, here));
    cluster.put(role("reader", "shop", ["get"], ["pods"]));
    assert.ok(may(jane, here));
    cluster.put(role("reader", "shop", ["list"], ["pods"]));
    assert.ok(!may(jane, here));
    cluster.put(role("reader", "shop", ["*"], ["*"]));
    assert.ok(may(jane, here));
    cluster.put({ ...bound, subjects: [{ kind: "User", name: "jim", apiGroup }] });
    assert.ok(!may(jane, here));
    assert.ok(may({ user: "jim", groups: [] }, here));
    cluster.remove(bound);
    assert.ok(!may({ user: "jim", groups: [] }, here));
  });
});

describe("kubelets", () => {
  let cluster: TestCluster;
  let authorizer: ClusterAuthorizer;
  const kubelet: Caller = { user: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
  const place = (namespace: string, name: string) => ({ namespace, name });
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "shop" },
    spec: {
      nodeName: "n1",
      serviceAccountName: "web",
      imagePullSecrets: [{ name: "pull" }],
      containers: [
        {
          name: "c",
          env: [{ name: "A", valueFrom: { secretKeyRef: { name: "env", key: "k" } } }],
          envFrom: [{ configMapRef: { name: "all" } }],
        },
      ],
      volumes: [
        { name: "a", secret: { secretName: "vol" } },
        { name: "b", projected: { sources: [{ configMap: { name: "kube-root-ca.crt" } }] } },
        { name: "c", persistentVolumeClaim: { claimName: "data" } },
        { name: "d", ephemeral: {} },
      ],
    },
  } as unknown as Pod;

  beforeEach(() => {
    cluster = new TestCluster();
    for (const object of bootstrapObjects()) cluster.put(object);
    authorizer = new ClusterAuthorizer(cluster);
    authorizer.follow();
  });
  const decide = (attributes: Attributes) => authorizer.authorize(kubelet, attributes);
  const may = (attributes: Attributes) => decide(attributes).allowed;

  it("read what their pods need, while they have them", () => {
    const needed = [
      ask("get", "pods", place("shop", "p")),
      ...["pull", "env", "vol"].map((name) => ask("get", "secrets", place("shop", name))),
      ...["all", "kube-root-ca.crt"].map((name) => ask("watch", "configmaps", place("shop", name))),
      ask("get", "persistentvolumeclaims", place("shop", "data")),
      ask("get", "persistentvolumeclaims", place("shop", "p-d")),
      ask("get", "serviceaccounts", place("shop", "web")),
      ask("create", "serviceaccounts/token", place("shop", "web")),
    ];
    for (const one of needed) assert.ok(!may(one));
    cluster.put({ ...pod, spec: { ...pod.spec, nodeName: "" } as Pod["spec"] });
    for (const one of needed) assert.ok(!may(one));
    cluster.put(pod);
    for (const one of needed) assert.ok(may(one), JSON.stringify(one));
    assert.ok(!may(ask("get", "secrets", place("other", "vol"))));
    assert.ok(!may(ask("delete", "secrets", place("shop", "vol"))));
    assert.deepEqual(decide(ask("get", "secrets", place("shop", "x"))), {
      allowed: false,
      reason: "no relationship found between node 'n1' and this object",
    });
    assert.equal(decide(ask("list", "secrets", { namespace: "shop" })).reason, "No Object name found");
    cluster.remove(pod);
    for (const one of needed) assert.ok(!may(one));
  });

  it("read volumes and their secrets by way of claims", () => {
    cluster.put(pod);
    const volume = (name: string, claim: string) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec: {
        claimRef: { namespace: "shop", name: claim },
        csi: { driver: "d", volumeHandle: "h", nodeStageSecretRef: { name: "stage", namespace: "csi" } },
      },
    });
    cluster.put(volume("v1", "data"));
    cluster.put(volume("v2", "other"));
    assert.ok(may(ask("get", "persistentvolumes", { name: "v1" })));
    assert.ok(!may(ask("get", "persistentvolumes", { name: "v2" })));
    assert.ok(!may(ask("get", "secrets", place("csi", "stage"))));
    const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: place("shop", "data") };
    // A claim that only names a volume has no part in it: that is bound to another.
    cluster.put({ ...claim, spec: { volumeName: "v2" } } as typeof claim);
    assert.ok(!may(ask("get", "secrets", place("csi", "stage"))));
    cluster.put({ ...claim, spec: { volumeName: "v1" } } as typeof claim);
    assert.ok(may(ask("get", "secrets", place("csi", "stage"))));
  });

  it("write their own node, lease and pods' status; admission does the rest", () => {
    assert.ok(may(ask("create", "nodes")));
    assert.ok(may(ask("get", "nodes", { name: "n1" })));
    assert.equal(
      decide(ask("get", "nodes", { name: "n2" })).reason,
      "node 'n1' cannot read 'n2', only its own Node object",
    );
    assert.ok(!may(ask("list", "nodes")));
    assert.ok(may(ask("patch", "nodes/status", { name: "n1" })));
    const lease = { group: "coordination.k8s.io", namespace: "kube-node-lease" };
    assert.ok(may(ask("update", "leases", { ...lease, name: "n1" })));
    assert.ok(!may(ask("update", "leases", { ...lease, name: "n2" })));
    assert.ok(!may(ask("update", "leases", { ...lease, namespace: "default", name: "n1" })));
    assert.ok(may(ask("patch", "pods/status", place("shop", "p"))));
    assert.ok(!may(ask("update", "pods", place("shop", "p"))));
  });

  it("list their own pods, services, and little else", () => {
    const pods = { ...ask("list", "pods"), fieldSelector: "spec.nodeName=n1" } as Attributes;
    assert.ok(may(pods));
    assert.ok(!may({ ...pods, fieldSelector: "spec.nodeName=n2" } as Attributes));
    assert.ok(!may({ ...pods, fieldSelector: "spec.nodeName!=n1" } as Attributes));
    assert.equal(decide(ask("list", "pods")).reason, "can only list/watch pods with spec.nodeName field selector");
    assert.ok(may(ask("watch", "services")));
    assert.ok(may(ask("create", "events", { namespace: "shop" })));
    assert.ok(may(ask("create", "certificatesigningrequests", { group: "certificates.k8s.io" })));
    assert.ok(may({ verb: "get", path: "/healthz" }));
    assert.ok(!may(ask("list", "deployments", { group: "apps" })));
  });

  it("without a name are nobody", () => {
    const caller = { user: "system:node:", groups: ["system:nodes"] };
    assert.equal(authorizer.authorize(caller, ask("get", "pods")).reason, 'unknown node for user "system:node:"');
  });
});
