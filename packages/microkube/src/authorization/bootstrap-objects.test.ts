import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterRole, ClusterRoleBinding } from "@fjord/kube";
import { find } from "../cluster-objects.ts";
import { TestCluster } from "../test-cluster.ts";
import { ensureBootstrapObjects } from "./bootstrap-objects.ts";
import { followRoleAggregation, staleRoles } from "./role-aggregation.ts";
import { RBAC_GROUP } from "./role-index.ts";

const roleOf = (cluster: TestCluster, name: string) => find<ClusterRole>(cluster, "ClusterRole", "", name, RBAC_GROUP);

describe("what every cluster begins with", () => {
  it("is there after the first start, and unchanged by the second", async () => {
    const cluster = new TestCluster();
    await ensureBootstrapObjects(cluster);
    assert.ok(roleOf(cluster, "cluster-admin"));
    assert.ok(roleOf(cluster, "system:node"));
    assert.ok(find(cluster, "Role", "kube-system", "extension-apiserver-authentication-reader", RBAC_GROUP));
    assert.ok(find(cluster, "PriorityClass", "", "system-node-critical", "scheduling.k8s.io"));
    const before = roleOf(cluster, "system:node")?.metadata.resourceVersion;
    await ensureBootstrapObjects(cluster);
    assert.equal(roleOf(cluster, "system:node")?.metadata.resourceVersion, before);
  });

  it("gets back what was taken, keeps what was added, and leaves alone what says so", async () => {
    const cluster = new TestCluster();
    await ensureBootstrapObjects(cluster);
    const basic = roleOf(cluster, "system:basic-user") as ClusterRole;
    const extra = { verbs: ["get"], apiGroups: ["x"], resources: ["y"] };
    cluster.put({ ...structuredClone(basic), rules: [extra] });
    const discovery = roleOf(cluster, "system:discovery") as ClusterRole;
    const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "false" };
    cluster.put({ ...structuredClone(discovery), metadata: { ...discovery.metadata, annotations }, rules: [] });
    const binding = () =>
      find<ClusterRoleBinding>(cluster, "ClusterRoleBinding", "", "system:discovery", RBAC_GROUP) as ClusterRoleBinding;
    cluster.put({ ...structuredClone(binding()), subjects: [] });
    await ensureBootstrapObjects(cluster);
    assert.equal(roleOf(cluster, "system:basic-user")?.rules?.length, 4);
    assert.deepEqual(roleOf(cluster, "system:basic-user")?.rules?.[0], extra);
    assert.deepEqual(roleOf(cluster, "system:discovery")?.rules, []);
    assert.equal(binding().subjects?.[0]?.name, "system:authenticated");
  });
});

describe("gathered roles", () => {
  it("have the rules of those that they select, also over several steps, and follow them", async () => {
    const cluster = new TestCluster();
    await ensureBootstrapObjects(cluster);
    const end = followRoleAggregation(cluster);
    for (let round = 0; round < 4; round++) await cluster.clock.advance(1);
    assert.ok((roleOf(cluster, "view")?.rules?.length ?? 0) > 5);
    const allows = (name: string, text: string) => JSON.stringify(roleOf(cluster, name)?.rules).includes(text);
    assert.ok(allows("admin", "rolebindings"));
    assert.ok(allows("admin", '"pods/exec"'));
    assert.ok(!allows("view", '"secrets"'));
    const widgets = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "widgets", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
      rules: [{ verbs: ["get"], apiGroups: ["example.com"], resources: ["widgets"] }],
    };
    cluster.put(widgets);
    for (let round = 0; round < 4; round++) await cluster.clock.advance(1);
    for (const name of ["view", "edit", "admin"]) assert.ok(allows(name, "widgets"), name);
    cluster.remove(widgets);
    for (let round = 0; round < 4; round++) await cluster.clock.advance(1);
    for (const name of ["view", "edit", "admin"]) assert.ok(!allows(name, "widgets"), name);
    end();
    cluster.put(widgets);
    await cluster.clock.advance(1);
    assert.ok(!allows("view", "widgets"));
  });

  it("are settled when nothing is to be changed", () => {
    assert.deepEqual(staleRoles([]), []);
  });
});
