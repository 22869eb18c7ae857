import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ClusterRole, Deployment, Node, Pod } from "../kinds/index.ts";
import { collectionPath, describeTarget, objectPath, queryString } from "./resource-path.ts";
test("knows the paths of the core group and of others, with and without a namespace", () => {
    assert.equal(collectionPath(Pod, undefined), "/api/v1/pods");
    assert.equal(collectionPath(Pod, "web"), "/api/v1/namespaces/web/pods");
    assert.equal(objectPath(Deployment, { namespace: "web", name: "shop" }, "scale"), "/apis/apps/v1/namespaces/web/deployments/shop/scale");
    assert.equal(objectPath(Node, { name: "n1" }), "/api/v1/nodes/n1");
});
test("escapes what a URL would understand otherwise", () => {
    const name = "system:node?a#b c";
    assert.equal(objectPath(ClusterRole, { name }), "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%3Fa%23b%20c");
});
test("refuses names that lead elsewhere", () => {
    for (const name of ["", ".", "..", "a/b", "../b", "a%2fb"]) {
        assert.throws(() => objectPath(Node, { name }), { code: "KUBE_INVALID_ADDRESS" }, name);
        assert.throws(() => objectPath(Pod, { name, namespace: "web" }), { code: "KUBE_INVALID_ADDRESS" }, name);
        if (name !== "")
            assert.throws(() => collectionPath(Pod, name), { code: "KUBE_INVALID_ADDRESS" }, name);
    }
});
test("whatever the name, a path that is built means that name alone", () => {
    fc.assert(fc.property(fc.string(), (name) => {
        let path;
        try {
            path = objectPath(Node, { name });
        }
        catch {
            return;
        }
        const { pathname, search, hash } = new URL(path, "https://example.com");
        assert.equal(decodeURIComponent(pathname), `/api/v1/nodes/${name}`);
        assert.equal(search + hash, "");
    }));
});
test("refuses a namespace for a kind that has none, and none for a kind that has one", () => {
    assert.throws(() => objectPath(Node, { name: "n1", namespace: "web" }), /not namespaced/);
    assert.throws(() => objectPath(Pod, { name: "p" }), /namespaced and none was given/);
});
test("names what an error is about", () => {
    assert.equal(describeTarget(Pod, { namespace: "web", name: "shop" }), "Pod web/shop");
    assert.equal(describeTarget(Node, { name: "n1" }), "Node n1");
    assert.equal(describeTarget(Pod, { namespace: "web" }), "Pod web/*");
    assert.equal(describeTarget(Pod, {}), "Pod");
});
test("leaves undefined parameters out of a query and escapes the rest", () => {
    assert.equal(queryString({ a: undefined }), "");
    assert.equal(queryString({ labelSelector: "a in (b,c)", limit: 5, watch: true, x: undefined }), "?labelSelector=a%20in%20(b%2Cc)&limit=5&watch=true");
});
