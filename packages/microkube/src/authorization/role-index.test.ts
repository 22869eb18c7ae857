import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster } from "../test-cluster.ts";
import { RBAC_GROUP, RoleIndex } from "./role-index.ts";

test("no name is taken for another caller's groups", () => {
  const cluster = new TestCluster();
  const index = new RoleIndex();
  index.follow(cluster);
  const apiVersion = `${RBAC_GROUP}/v1`;
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  cluster.put({ apiVersion, kind: "ClusterRole", metadata: { name: "all" }, rules } as never);
  cluster.put({
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: "all" },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "all" },
    subjects: [{ apiGroup: RBAC_GROUP, kind: "Group", name: "masters" }],
  } as never);
  assert.equal(index.grants({ user: "jane", groups: ["masters"] }, "").rules.length, 1);
  assert.equal(index.grants({ user: "jane\nmasters", groups: [] }, "").rules.length, 0);
  assert.equal(index.grants({ user: "jane", groups: ["masters", ...Array(500).fill("x")] }, "").rules.length, 1);
});
