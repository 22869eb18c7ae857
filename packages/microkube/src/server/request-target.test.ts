import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StatusError } from "../status-error.ts";
import { attributesOf, targetOf } from "./request-target.ts";

const none = new URLSearchParams();

function short(method: string, path: string, query = ""): string {
  const target = targetOf(method, path, new URLSearchParams(query));
  if (!("resource" in target)) return `${target.verb} ${target.path}`;
  const { verb, group, version, namespace, resource, name, subresource, rest } = target;
  return [verb, `${group}/${version}`, namespace, resource, name, subresource, rest].join("|");
}

test("paths and methods say what is asked", () => {
  const cases: [method: string, path: string, query: string, expected: string][] = [
    ["GET", "/api/v1/pods", "", "list|/v1||pods|||"],
    ["GET", "/api/v1/pods", "watch=true", "watch|/v1||pods|||"],
    ["GET", "/api/v1/pods", "watch=0", "list|/v1||pods|||"],
    ["GET", "/api/v1/namespaces/shop/pods/web", "", "get|/v1|shop|pods|web||"],
    ["GET", "/api/v1/namespaces/shop/pods/", "", "list|/v1|shop|pods|||"],
    ["GET", "/api/v1/watch/namespaces/shop/pods/web", "", "watch|/v1|shop|pods|web||"],
    ["PUT", "/apis/apps/v1/namespaces/shop/deployments/web/scale", "", "update|apps/v1|shop|deployments|web|scale|"],
    ["DELETE", "/apis/apps/v1/namespaces/shop/deployments", "", "deletecollection|apps/v1|shop|deployments|||"],
    ["GET", "/api/v1/namespaces/shop", "", "get|/v1||namespaces|shop||"],
    ["PUT", "/api/v1/namespaces/shop/finalize", "", "update|/v1||namespaces|shop|finalize|"],
    ["GET", "/api/v1/namespaces/shop/status", "", "get|/v1||namespaces|shop|status|"],
    ["GET", "/api/v1/nodes/n1/proxy/stats/summary", "", "get|/v1||nodes|n1|proxy|/stats/summary"],
    ["POST", "/api/v1/namespaces/a/services/web:80/proxy/x/y/", "", "create|/v1|a|services|web:80|proxy|/x/y/"],
    [
      "GET",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
      "",
      "get|rbac.authorization.k8s.io/v1||clusterroles|system:node||",
    ],
    ["GET", "/api/v1", "", "get /api/v1"],
    ["GET", "/apis/apps/v1", "", "get /apis/apps/v1"],
    ["GET", "/healthz", "", "get /healthz"],
  ];
  for (const [method, path, query, expected] of cases) assert.equal(short(method, path, query), expected, path);
});

test("authorisation is asked about the name, where one is in the selector or the path", () => {
  const query = new URLSearchParams("fieldSelector=metadata.name=web");
  const target = targetOf("GET", "/api/v1/namespaces/shop/pods", query);
  assert.deepEqual(attributesOf(target, query), {
    verb: "list",
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "shop",
    name: "web",
    fieldSelector: "metadata.name=web",
  });
  const namespace = attributesOf(targetOf("GET", "/api/v1/namespaces/shop", none), none);
  assert.equal("namespace" in namespace && namespace.namespace, "shop");
});

test("any path is read or refused", () => {
  const part = fc.constantFrom("api", "apis", "v1", "namespaces", "watch", "pods", "", "%", "%2F", "%E0", "a");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 10 }), (parts) => {
      try {
        targetOf("GET", `/${parts.join("/")}`, none);
      } catch (error) {
        assert(error instanceof StatusError && error.code === 400);
      }
    }),
  );
});
