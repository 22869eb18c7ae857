import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { tenantOf } from "../tenant/tenant-forge.ts";
import { decide } from "./decide.ts";
import { KubeRefusal } from "./kube-refusal.ts";
import { Rules } from "./rules.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const tenant = tenantOf(id);
const rules = new Rules(() => [
  { group: "example.com", resource: "widgets" },
  { group: "rbac.authorization.k8s.io", resource: "rolebindings" },
  { group: "apps", resource: "deployments" },
]);
const own = encodeURIComponent(`fjord.dev/consumer=${id}`);

function ask(line: string) {
  const [method = "", url = ""] = line.replace("TENANT", tenant.namespace).split(" ");
  return decide(method, url, false, tenant, rules);
}

function status(line: string): number {
  try {
    ask(line);
  } catch (error) {
    if (error instanceof KubeRefusal) return error.status;
    throw error;
  }
  return 0;
}

const allowed: Record<string, string> = {
  "GET /api/v1/namespaces/shop/pods": "list in shop",
  "GET /api/v1/namespaces/shop/pods?watch=1": "watch in shop",
  "GET /api/v1/namespaces/shop/pods?watch": "watch in shop",
  "GET /api/v1/namespaces/shop/pods?watch=false": "list in shop",
  "GET /api/v1/namespaces/shop/pods/web?pretty=true": "get in shop",
  "GET /api/v1/namespaces/shop/pods/web/log?follow=true&container=a": "get in shop",
  "POST /api/v1/namespaces/shop/secrets?fieldManager=x": "create in shop",
  "PUT /api/v1/namespaces/shop/secrets/a": "update in shop",
  "PATCH /api/v1/namespaces/shop/secrets/a?force=true&fieldManager=x": "patch in shop",
  "DELETE /apis/fjord.dev/v1alpha1/namespaces/shop/shadowpods/a?gracePeriodSeconds=0": "delete in shop",
  "GET /apis/example.com/v1/namespaces/shop/widgets": "list in shop",
  "GET /apis/events.k8s.io/v1/namespaces/shop/events": "list in shop",
  "GET /apis/fjord.dev/v1alpha1/namespaces/TENANT/twinnamespaces": "list",
  "POST /apis/fjord.dev/v1alpha1/namespaces/TENANT/twinnamespaces": "create",
  "DELETE /apis/fjord.dev/v1alpha1/namespaces/TENANT/twinnamespaces/shop": "delete",
};

const refused = [
  "GET /api/v1/pods/web",
  "GET /api/v1/events",
  "GET /api/v1/nodes",
  "GET /api/v1/namespaces",
  "GET /api/v1/namespaces/shop",
  "GET /api/v1/persistentvolumes",
  "GET /api/v1/namespaces/shop/serviceaccounts",
  "POST /api/v1/namespaces/shop/serviceaccounts/default/token",
  "GET /api/v1/namespaces/shop/endpoints",
  "POST /api/v1/namespaces/shop/pods",
  "DELETE /api/v1/namespaces/shop/pods/web",
  "PATCH /api/v1/namespaces/shop/pods/web",
  "POST /api/v1/namespaces/shop/pods/web/eviction",
  "POST /api/v1/namespaces/shop/pods/web/binding",
  "PATCH /api/v1/namespaces/shop/pods/web/ephemeralcontainers",
  "GET /api/v1/namespaces/shop/pods/web/proxy",
  "GET /api/v1/namespaces/shop/services/web/proxy",
  "GET /api/v1/nodes/n/proxy",
  "GET /api/v1/namespaces/shop/pods/web/exec",
  "PUT /apis/fjord.dev/v1alpha1/namespaces/shop/shadowpods/a/status",
  "PATCH /apis/fjord.dev/v1alpha1/namespaces/shop/shadowpods/a/status",
  "DELETE /api/v1/namespaces/shop/secrets",
  "POST /api/v1/secrets",
  "POST /api/v1/namespaces/shop/events",
  "GET /apis/fjord.dev/v1alpha1/twinnamespaces",
  "GET /apis/fjord.dev/v1alpha1/namespaces/shop/twinnamespaces",
  "PATCH /apis/fjord.dev/v1alpha1/namespaces/TENANT/twinnamespaces/a",
  "PUT /apis/fjord.dev/v1alpha1/namespaces/TENANT/twinnamespaces/a/status",
  "GET /api/v1/namespaces/TENANT/secrets",
  "GET /api/v1/namespaces/TENANT/configmaps",
  "POST /apis/fjord.dev/v1alpha1/namespaces/TENANT/shadowpods",
  "GET /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings",
  "GET /apis/apps/v1/namespaces/shop/deployments",
  "GET /apis/example.com/v1/namespaces/shop/gadgets",
  "GET /apis/example.com/v1/namespaces/shop/widgets/a/status",
  "GET /apis/fjord.dev/v1alpha1/sites",
  "GET /apis/fjord.dev/v1alpha1/contracts",
  "OPTIONS /api/v1/namespaces/shop/pods",
  "HEAD /api/v1/namespaces/shop/pods",
  "CONNECT /api/v1/namespaces/shop/pods",
  "get /api/v1/namespaces/shop/pods",
  "GET /api/v1/namespaces/shop/constructor",
  "GET /api/v1/namespaces/shop/pods?watch=1&watch=0",
  "GET /api/v1/namespaces/shop/pods?unknown=1",
  "GET /api/v1/namespaces/shop/pods?%77atch=1",
  "GET /api/v1/namespaces/shop/pods?a;b=1",
  "GET /api/v1/namespaces/shop/pods?limit=%zz",
  "GET /api/v1/namespaces/shop/pods/web/log?insecureSkipTLSVerifyBackend=true",
  "GET /api/v1/namespaces/shop/pods/web?watch=1",
  "GET /api/v1/pods?labelSelector=a&labelSelector=b",
  "GET /api/v1/pods?labelSelector=%0a",
  "GET /api/v1/pods?labelSelector=a%26b",
  "DELETE /api/v1/namespaces/shop/secrets/a?force=true",
];

describe("what a tenant may ask", () => {
  for (const [line, meaning] of Object.entries(allowed)) {
    test(`${line}: ${meaning}`, () => {
      const { verb, twinNamespace, tenantWide } = ask(line);
      assert.equal(twinNamespace === undefined ? verb : `${verb} in ${twinNamespace}`, meaning);
      assert.equal(tenantWide, false);
    });
  }

  for (const line of refused) test(`${line}: refused`, () => assert.ok([400, 403].includes(status(line)), line));

  test("the whole of its objects is asked for by label, with whatever it asks for besides", () => {
    for (const [query, wanted] of [
      ["", `?labelSelector=${own}`],
      ["?labelSelector=", `?labelSelector=${own}`],
      ["?labelSelector=a%3Db", `?labelSelector=${own}%2Ca%3Db`],
      ["?watch=1&labelSelector=a+in+(b,c)", `?watch=1&labelSelector=${own}%2Ca%20in%20(b%2Cc)`],
    ]) {
      const { target, tenantWide } = ask(`GET /api/v1/pods${query}`);
      assert.equal(target, `/api/v1/pods${wanted}`);
      assert.equal(tenantWide, true);
    }
    for (const kind of ["secrets", "configmaps", "services", "persistentvolumeclaims"])
      assert.equal(ask(`GET /api/v1/${kind}`).tenantWide, true);
  });

  test("no selector that it can think of takes the label away", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (asked) => {
        const line = `GET /api/v1/secrets?labelSelector=${encodeURIComponent(asked).replaceAll("'", "%27")}`;
        if (status(line) !== 0) return;
        const { searchParams } = new URL(ask(line).target, "https://x");
        const [first] = searchParams.getAll("labelSelector");
        assert.equal(searchParams.size, 1);
        assert.equal(first?.split(",")[0], `fjord.dev/consumer=${id}`);
      }),
    );
  });

  test("streams are asked for as upgrades, and nothing else is", () => {
    const upgrade = (method: string, url: string) => decide(method, url, true, tenant, rules);
    const exec = "/api/v1/namespaces/shop/pods/web/exec?command=sh&command=-c&command=a%26b&stdin=true";
    assert.equal(upgrade("POST", exec).stream, true);
    assert.equal(upgrade("GET", exec).target, exec);
    assert.equal(upgrade("GET", "/api/v1/namespaces/shop/pods/web/portforward?ports=1&ports=2").verb, "get");
    for (const url of ["/api/v1/namespaces/shop/pods/web", "/api/v1/namespaces/shop/pods/web/log", "/api/v1/pods"])
      assert.throws(() => upgrade("GET", url), KubeRefusal);
  });
});
