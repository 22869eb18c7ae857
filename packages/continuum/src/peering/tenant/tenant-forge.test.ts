import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Site, type SpecDraftOf } from "@fjord/api";
import { forgeClusterRole, forgeRole, tenantOf } from "./tenant-forge.ts";

const consumer = "a".repeat(26);

function rulesWith(reflection: SpecDraftOf<typeof Site>["reflection"]) {
  const { spec } = newObject(Site, { metadata: { name: "own" }, spec: { reflection } });
  return forgeClusterRole(spec.reflection).rules ?? [];
}

describe("a tenant", () => {
  it("is a service account in a namespace of its own", () => {
    assert.deepEqual(tenantOf(consumer), {
      consumer,
      namespace: `fjord-tenant-${consumer}`,
      user: `system:serviceaccount:fjord-tenant-${consumer}:consumer`,
    });
  });

  it("may ask for twin namespaces, and change none", () => {
    const [rule] = forgeRole(consumer).rules ?? [];
    assert.deepEqual(rule?.verbs, ["get", "list", "watch", "create", "delete"]);
  });

  it("may do nothing by wildcard, touch no role, account or quota, and make no pod or token", () => {
    const rules = rulesWith([]);
    assert.ok(rules.every(({ apiGroups, resources, verbs }) => ![apiGroups, resources, verbs].flat().includes("*")));
    const resources = rules.flatMap((rule) => rule.resources ?? []);
    for (const forbidden of [
      "roles",
      "rolebindings",
      "serviceaccounts",
      "serviceaccounts/token",
      "resourcequotas",
      "nodes",
    ]) {
      assert.ok(!resources.includes(forbidden), forbidden);
    }
    for (const rule of rules.filter((each) => each.resources?.includes("pods"))) {
      assert.deepEqual(rule.verbs, ["get", "list", "watch"]);
    }
    assert.ok(!resources.includes("shadowpods/status"), "what a shadow pod has come to is the provider's to say");
    assert.ok(!resources.includes("pods/status"));
  });

  it("gets the custom resources that the owner lists, and nothing of Kubernetes' own by that way", () => {
    const before = rulesWith([]).length;
    const [added] = rulesWith([{ group: "example.com", resource: "widgets" }]).slice(before);
    assert.deepEqual([added?.apiGroups, added?.resources], [["example.com"], ["widgets"]]);
    const refused = rulesWith([
      { group: "rbac.authorization.k8s.io", resource: "rolebindings" },
      { group: "apps", resource: "daemonsets" },
      { group: "", resource: "serviceaccounts" },
      { group: "fjord.dev", resource: "contracts" },
      { group: "example.com", resource: "secretive", policy: "Never" },
    ]);
    assert.equal(refused.length, before);
  });
});
