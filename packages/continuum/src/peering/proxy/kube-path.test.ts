import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseKubePath, resourceName } from "./kube-path.ts";

const understood: Record<string, object> = {
  "/api/v1/pods": { group: "", version: "v1", resource: "pods" },
  "/api/v1/namespaces/shop/pods": { group: "", version: "v1", namespace: "shop", resource: "pods" },
  "/api/v1/namespaces/shop/pods/web-0": {
    group: "",
    version: "v1",
    namespace: "shop",
    resource: "pods",
    name: "web-0",
  },
  "/api/v1/namespaces/shop/pods/web-0/log": {
    group: "",
    version: "v1",
    namespace: "shop",
    resource: "pods",
    name: "web-0",
    subresource: "log",
  },
  "/api/v1/namespaces/shop/configmaps/kube-root-ca.crt": {
    group: "",
    version: "v1",
    namespace: "shop",
    resource: "configmaps",
    name: "kube-root-ca.crt",
  },
  "/apis/fjord.dev/v1alpha1/shadowpods": { group: "fjord.dev", version: "v1alpha1", resource: "shadowpods" },
  "/apis/policy/v1/namespaces/a/poddisruptionbudgets/b": {
    group: "policy",
    version: "v1",
    namespace: "a",
    resource: "poddisruptionbudgets",
    name: "b",
  },
  "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices": {
    group: "discovery.k8s.io",
    version: "v1",
    namespace: "a",
    resource: "endpointslices",
  },
  "/api/v1/nodes/n1/proxy": { group: "", version: "v1", resource: "nodes", name: "n1", subresource: "proxy" },
};

const refused = [
  "",
  "/",
  "api/v1/pods",
  "/api",
  "/api/v1",
  "/api/v1/",
  "/apis",
  "/apis/apps",
  "/apis/apps/v1",
  "/version",
  "/healthz",
  "/metrics",
  "/openapi/v3",
  "/logs/kube-apiserver.log",
  "/debug/pprof",
  "/.well-known/openid-configuration",
  "/api/v2/pods",
  "/api/v1/namespaces",
  "/api/v1/namespaces/shop",
  "/api/v1/namespaces/shop/",
  "/api/v1/namespaces//pods",
  "/api/v1//namespaces/shop/pods",
  "//api/v1/pods",
  "/api/v1/namespaces/shop/pods/",
  "/api/v1/namespaces/shop/pods/web/",
  "/api/v1/namespaces/shop/pods/web/log/",
  "/api/v1/namespaces/shop/pods/web/log/more",
  "/api/v1/namespaces/shop/pods/web/proxy/admin/secret",
  "/api/v1/namespaces/shop/../kube-system/pods",
  "/api/v1/namespaces/./shop/pods",
  "/api/v1/namespaces/../pods",
  "/api/v1/namespaces/shop/pods/..",
  "/api/v1/namespaces/shop/pods/.",
  "/api/v1/namespaces/shop/pods/a..b",
  "/api/v1/namespaces/shop/pods/%2e%2e",
  "/api/v1/namespaces/shop%2fpods",
  "/api/v1/namespaces/shop%2Fpods/x",
  "/api/v1/namespaces/%73hop/pods",
  "/api/v1/namespaces/shop/pods/web%00",
  "/api/v1/namespaces/shop/pods/web%20",
  "/api/v1/namespaces/shop/pods/web;x=y",
  "/api/v1/namespaces/shop/pods\\web",
  "/api/v1\\namespaces/shop/pods",
  "/api/v1/namespaces/Shop/pods",
  "/api/v1/namespaces/shop_1/pods",
  `/api/v1/namespaces/${"a".repeat(64)}/pods`,
  "/api/v1/namespaces/-shop/pods",
  "/api/v1/namespaces/shop-/pods",
  "/API/v1/pods",
  "/api/V1/pods",
  "/api/v1/Pods",
  "/api/v1/namespaces/shop/PODS",
  "/api/v1/namespaces/shop/pods/Web",
  "/api/v1/namespaces/shop/pods/web:http",
  "/api/v1/namespaces/shop/pods/https:web:443",
  `/api/v1/namespaces/shop/pods/${"a".repeat(254)}`,
  `/api/v1/${"pods/".repeat(300)}`,
  "/apis//v1/pods",
  "/apis/../api/v1/pods",
  "/apis/.dev/v1/pods",
  "/apis/fjord..dev/v1/pods",
  "/apis/fjord.dev/v1alpha/shadowpods",
  "/apis/fjord.dev/latest/shadowpods",
  "/api/v1/namespaces/shop/pods#fragment",
  "/api/v1/pods\u0000",
  "/api/v1/pods\r\nx: y",
  "/api/v1/pöds",
  "https://elsewhere/api/v1/pods",
];

describe("the path of a request", () => {
  for (const [path, parts] of Object.entries(understood))
    test(`${path} is understood`, () => assert.deepEqual(parseKubePath(path), parts));

  for (const path of refused)
    test(`${JSON.stringify(path.slice(0, 80))} is not`, () => assert.equal(parseKubePath(path), undefined));

  test("what is understood says all that there is in the path", () => {
    const part = fc.string({ unit: fc.constantFrom(..."abz019.-/%~:;\\ _AP"), maxLength: 12 });
    const paths = fc.array(fc.oneof(part, fc.constantFrom("api", "apis", "v1", "namespaces", "pods", "log", "a.b")));
    fc.assert(
      fc.property(paths, (parts) => {
        const path = `/${parts.join("/")}`;
        const parsed = parseKubePath(path);
        if (parsed === undefined) return;
        const { group, version, namespace, resource, name, subresource } = parsed;
        const again = [
          ...(group === "" ? ["api"] : ["apis", group]),
          version,
          ...(namespace === undefined ? [] : ["namespaces", namespace]),
          resource,
          ...(name === undefined ? [] : [name]),
          ...(subresource === undefined ? [] : [subresource]),
        ];
        assert.equal(`/${again.join("/")}`, path);
        assert.equal(new URL(`https://x${path}`).pathname, path);
      }),
      { numRuns: 2_000 },
    );
  });

  test("kinds are named as roles name them", () => {
    assert.equal(resourceName({ group: "", version: "v1", resource: "pods", subresource: "log" }), "pods/log");
    assert.equal(resourceName({ group: "policy", version: "v1", resource: "x" }), "x.policy");
  });
});
