import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { KubeObject } from "@fjord/base";
import { requestOf } from "../admission/test-request.ts";
import { TestCluster } from "../test-cluster.ts";
import { ClusterAuthorizer } from "./cluster-authorizer.ts";
import { escalationCheck } from "./escalation.ts";

const apiGroup = "rbac.authorization.k8s.io";
const pods = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] };
let cluster: TestCluster;
let authorizer: ClusterAuthorizer;

const object = (kind: string, name: string, more: object, namespace?: string) =>
  ({ apiVersion: `${apiGroup}/v1`, kind, metadata: { name, ...(namespace && { namespace }) }, ...more }) as KubeObject;
const jane = { user: "jane", groups: ["dev"] };
const holds = (...rules: object[]) => {
  cluster.put(object("ClusterRole", "own", { rules }));
  const subjects = [{ kind: "User", name: "jane", apiGroup }];
  cluster.put(
    object("ClusterRoleBinding", "own", { roleRef: { apiGroup, kind: "ClusterRole", name: "own" }, subjects }),
  );
};
const check = (target: KubeObject, given: object = {}) =>
  Promise.resolve(
    escalationCheck(authorizer, authorizer.roles).validate?.(requestOf(cluster, target, { caller: jane, ...given })),
  );

beforeEach(() => {
  cluster = new TestCluster();
  authorizer = new ClusterAuthorizer(cluster);
  authorizer.follow();
});

describe("giving permissions to others", () => {
  it("takes having them", async () => {
    const role = object("Role", "x", { rules: [pods] }, "shop");
    await assert.rejects(check(role), {
      code: 403,
      message:
        'roles.rbac.authorization.k8s.io "x" is forbidden: user "jane" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    });
    holds({ ...pods, verbs: ["*"] });
    await check(role);
  });

  it("or the verb escalate", async () => {
    holds({ verbs: ["escalate"], apiGroups: [apiGroup], resources: ["roles"] });
    await check(object("Role", "x", { rules: [pods] }, "shop"));
    await assert.rejects(check(object("ClusterRole", "x", { rules: [pods] })), { code: 403 });
  });

  it("by a binding takes having them all, or the verb bind", async () => {
    cluster.put(object("ClusterRole", "view", { rules: [pods] }));
    const binding = (name: string) =>
      object("RoleBinding", "b", { roleRef: { apiGroup, kind: "ClusterRole", name }, subjects: [] }, "shop");
    await assert.rejects(check(binding("view")), { code: 403 });
    await assert.rejects(check(binding("missing")), { code: 404 });
    holds({ verbs: ["bind"], apiGroups: [apiGroup], resources: ["clusterroles"], resourceNames: ["view"] });
    await check(binding("view"));
    holds(pods);
    await check(binding("view"));
  });

  it("by gathering takes being an administrator", async () => {
    const role = object("ClusterRole", "x", { aggregationRule: { clusterRoleSelectors: [{}] } });
    await assert.rejects(check(role), /must have cluster-admin privileges to use the aggregationRule/);
    holds({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, { verbs: ["*"], nonResourceURLs: ["*"] });
    await check(role);
  });

  it("is free to masters, and so is letting a role be collected", async () => {
    const role = object("Role", "x", { rules: [pods] }, "shop");
    await check(role, { caller: { user: "root", groups: ["system:masters"] } });
    const held = { ...role, metadata: { ...role.metadata, finalizers: ["a"] } };
    await check(role, { old: held });
    await assert.rejects(check(object("Role", "x", { rules: [pods], other: 1 }, "shop"), { old: held }), { code: 403 });
  });
});
