import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseKubePath } from "./kube-path.ts";
import { KubeRefusal } from "./kube-refusal.ts";
import type { Verb } from "./rules.ts";
import { checkWrite } from "./write-check.ts";

const consumer = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const label = "fjord.dev/consumer";

const groups: Record<string, string> = {
  shadowpods: "/apis/fjord.dev/v1alpha1",
  ingresses: "/apis/networking.k8s.io/v1",
  endpointslices: "/apis/discovery.k8s.io/v1",
};

function status(verb: Verb, resource: string, contentType: string | undefined, body: unknown, name = "web"): number {
  const group = groups[resource] ?? "/api/v1";
  const path = parseKubePath(`${group}/namespaces/shop/${resource}${name && `/${name}`}`);
  assert.ok(path !== undefined);
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  try {
    checkWrite({ consumer, verb, path, contentType, body: bytes });
    return 200;
  } catch (error) {
    if (error instanceof KubeRefusal) return error.status;
    throw error;
  }
}

const json = "application/json";
const merge = "application/merge-patch+json";
const jsonPatch = "application/json-patch+json";
const labelled = (value: unknown) => ({ metadata: { labels: { [label]: value } } });

describe("what a tenant writes", () => {
  test("may be labelled as its own, or not at all", () => {
    assert.equal(status("create", "configmaps", json, labelled(consumer)), 200);
    assert.equal(status("create", "configmaps", json, { metadata: { name: "a" }, data: { a: "b" } }), 200);
    assert.equal(status("update", "configmaps", "application/json; charset=utf-8", {}), 200);
    assert.equal(status("patch", "configmaps", "application/merge-patch+json", labelled(null)), 200);
    assert.equal(status("patch", "configmaps", "application/apply-patch+yaml", labelled(consumer)), 200);
  });

  for (const claim of ["another", "", 1, ["x"], { a: 1 }, true]) {
    test(`may not be labelled ${JSON.stringify(claim)}`, () => {
      assert.equal(status("create", "configmaps", json, labelled(claim)), 403);
      for (const type of ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"])
        assert.equal(status("patch", "configmaps", `application/${type}`, labelled(claim)), 403);
      const pod = { spec: { pod: labelled(claim) } };
      assert.equal(status("create", "shadowpods", json, pod), 403);
    });
  }

  test("may not be labelled by the parts of a JSON patch either", () => {
    const operations: [string, unknown][] = [
      ["/metadata/labels/fjord.dev~1consumer", "another"],
      ["/metadata/labels", { [label]: "another" }],
      ["/metadata", { labels: { [label]: "another" } }],
      ["", labelled("another")],
    ];
    for (const [path, value] of operations) {
      for (const op of ["add", "replace"])
        assert.equal(status("patch", "configmaps", jsonPatch, [{ op, path, value }]), 403, path);
    }
    for (const op of ["move", "copy", "merge"])
      assert.equal(status("patch", "configmaps", jsonPatch, [{ op, path: "/a", from: "/b" }]), 403);
    assert.equal(status("patch", "configmaps", jsonPatch, [{ op: "add", path: "/data/a", value: "b" }]), 200);
    assert.equal(status("patch", "configmaps", jsonPatch, [{ op: "remove", path: "/data/a" }]), 200);
    assert.equal(status("patch", "configmaps", jsonPatch, {}), 400);
    assert.equal(status("patch", "configmaps", jsonPatch, [{ op: "add" }]), 400);
  });

  test("must be JSON that can be read in one way only", () => {
    assert.equal(status("create", "configmaps", "application/yaml", "a: b"), 415);
    assert.equal(status("create", "configmaps", "application/vnd.kubernetes.protobuf", "k8s\0"), 415);
    assert.equal(status("create", "configmaps", undefined, "{}"), 415);
    assert.equal(status("patch", "configmaps", json, "{}"), 415);
    assert.equal(status("patch", "configmaps", "application/apply-patch+yaml", "a: b"), 400);
    assert.equal(status("create", "configmaps", json, "[]"), 400);
    assert.equal(status("create", "configmaps", json, "null"), 400);
    assert.equal(status("create", "configmaps", json, "{} {}"), 400);
    assert.equal(status("create", "configmaps", json, `{"metadata":{"labels":{"${label}":"x"}},"metadata":{}}`), 400);
    assert.equal(status("create", "configmaps", json, String.raw`{"met\u0061data":{},"metadata":{}}`), 400);
    assert.equal(status("create", "configmaps", json, { Metadata: { labels: {} } }), 400);
    assert.equal(status("create", "configmaps", json, { metadata: { Labels: {} } }), 400);
    assert.equal(status("create", "configmaps", json, { data: { a: 'x":"y', 'b":"c': "\\" } }), 200);
  });

  test("may not take over traffic or get tokens", () => {
    assert.equal(status("create", "services", json, { spec: { externalIPs: ["10.0.0.1"] } }), 403);
    assert.equal(status("create", "services", json, { spec: { externalIPs: [] } }), 200);
    const add = [{ op: "add", path: "/spec/externalIPs/-", value: "10.0.0.1" }];
    assert.equal(status("patch", "services", jsonPatch, add), 403);
    assert.equal(status("create", "services", json, { spec: { loadBalancerIP: "10.0.0.1" } }), 403);
    assert.equal(status("create", "services", json, { spec: { loadBalancerip: "10.0.0.1" } }), 400);
    assert.equal(status("create", "services", json, { spec: { loadBalancerIP: "" } }), 200);
    assert.equal(status("create", "secrets", json, { type: "kubernetes.io/service-account-token" }), 403);
    assert.equal(status("create", "secrets", json, { type: "bootstrap.kubernetes.io/token" }), 403);
    assert.equal(status("create", "secrets", json, { type: "kubernetes.io/tls" }), 200);
  });

  test("may not choose the address of a Service by an annotation", () => {
    for (const name of [
      "metallb.io/loadBalancerIPs",
      "lbipam.cilium.io/ips",
      "loadbalancer.openstack.org/load-balancer-id",
    ]) {
      const annotated = (value: unknown) => ({ metadata: { annotations: { [name]: value } } });
      assert.equal(status("create", "services", json, annotated("10.0.0.1")), 403);
      assert.equal(status("patch", "services", "application/merge-patch+json", annotated("10.0.0.1")), 403);
      assert.equal(status("patch", "services", "application/merge-patch+json", annotated(null)), 200);
      const add = [{ op: "add", path: `/metadata/annotations/${name.replace("/", "~1")}`, value: "10.0.0.1" }];
      assert.equal(status("patch", "services", jsonPatch, add), 403);
      assert.equal(status("create", "configmaps", json, annotated("10.0.0.1")), 200);
    }
  });

  test("says the hosts of an Ingress in a way that is seen", () => {
    assert.equal(status("create", "ingresses", json, { spec: { rules: [{ host: "a.example.com" }] } }), 200);
    assert.equal(status("create", "ingresses", json, { spec: { Rules: [] } }), 400);
    assert.equal(status("create", "ingresses", json, { spec: { rules: [{ Host: "a.example.com" }] } }), 400);
    assert.equal(status("create", "ingresses", json, { spec: { tls: [{ HOSTS: ["a.example.com"] }] } }), 400);
    assert.equal(status("create", "ingresses", json, { spec: { DefaultBackend: {} } }), 400);
    const merge = "application/merge-patch+json";
    assert.equal(status("patch", "ingresses", merge, { spec: { rules: [{ host: "a.example.com" }] } }), 200);
    for (const path of ["/spec/rules/0/host", "/spec/rules/-", "/spec", "", "/Spec/rules"])
      for (const op of ["add", "replace", "remove"])
        assert.equal(status("patch", "ingresses", jsonPatch, [{ op, path, value: {} }]), 403, `${op} ${path}`);
    assert.equal(status("patch", "ingresses", jsonPatch, [{ op: "add", path: "/metadata/labels/a", value: "b" }]), 200);
  });

  test("may not choose a volume that is there", () => {
    const claim = (spec: object, metadata: object = {}) => ({ metadata: { name: "a", ...metadata }, spec });
    const resources = { requests: { storage: "1Gi" } };
    for (const spec of [
      { volumeName: "the-owners" },
      { selector: { matchLabels: { a: "b" } } },
      { storageClassName: "" },
      { dataSource: { kind: "PersistentVolumeClaim", name: "x" } },
      { dataSourceRef: { kind: "PersistentVolumeClaim", name: "x", namespace: "default" } },
    ]) {
      assert.equal(status("create", "persistentvolumeclaims", json, claim({ ...spec, resources })), 403);
      assert.equal(status("patch", "persistentvolumeclaims", "application/merge-patch+json", { spec }), 403);
      for (const [field, value] of Object.entries(spec))
        assert.equal(
          status("patch", "persistentvolumeclaims", jsonPatch, [{ op: "add", path: `/spec/${field}`, value }]),
          403,
        );
    }
    const annotations = { "volume.beta.kubernetes.io/storage-class": "" };
    assert.equal(status("create", "persistentvolumeclaims", json, claim({ resources }, { annotations })), 403);
    assert.equal(status("create", "persistentvolumeclaims", json, claim({ resources })), 200);
    assert.equal(status("create", "persistentvolumeclaims", json, claim({ resources, storageClassName: "fast" })), 200);
  });

  test("may not be made so that nothing here can remove it", () => {
    const kept = { metadata: { finalizers: ["example.com/mine"] } };
    for (const resource of ["configmaps", "services", "persistentvolumeclaims"]) {
      for (const verb of ["create", "update"] as const) assert.equal(status(verb, resource, json, kept), 403);
      assert.equal(status("patch", resource, "application/merge-patch+json", kept), 403);
      assert.equal(status("patch", resource, "application/apply-patch+yaml", kept), 403);
      for (const [path, value] of [
        ["/metadata/finalizers", ["a/b"]],
        ["/metadata/finalizers/-", "a/b"],
        ["/metadata", kept.metadata],
        ["", kept],
      ])
        assert.equal(status("patch", resource, jsonPatch, [{ op: "add", path, value }]), 403);
      // What protects a claim in use stays.
      const taken = resource === "persistentvolumeclaims" ? 403 : 200;
      assert.equal(status("patch", resource, jsonPatch, [{ op: "remove", path: "/metadata/finalizers" }]), taken);
      assert.equal(status("update", resource, json, { metadata: { finalizers: [] } }), taken);
    }
    assert.equal(status("create", "configmaps", json, { metadata: { Finalizers: ["a/b"] } }), 400);
    const protectedClaim = { metadata: { finalizers: ["kubernetes.io/pvc-protection"] } };
    assert.equal(status("update", "persistentvolumeclaims", json, protectedClaim), 200);
    assert.equal(status("update", "configmaps", json, protectedClaim), 403);
  });

  test("leaves a claim what keeps it while a pod has its volume", () => {
    const claims = "persistentvolumeclaims";
    const strategic = "application/strategic-merge-patch+json";
    const protection = ["kubernetes.io/pvc-protection"];
    for (const type of [merge, strategic, "application/apply-patch+yaml"])
      for (const finalizers of [null, [], protection])
        assert.equal(status("patch", claims, type, { metadata: { finalizers } }), 403, type);
    for (const body of [
      { metadata: { "$deleteFromPrimitiveList/finalizers": protection } },
      { metadata: { $patch: "replace", name: "web" } },
      { metadata: { $retainKeys: ["name"] } },
      { $patch: "replace", metadata: { name: "web" } },
      { metadata: null },
    ])
      assert.equal(status("patch", claims, strategic, body), 403, JSON.stringify(body));
    for (const op of ["add", "replace", "remove"])
      for (const path of ["", "/metadata", "/metadata/finalizers", "/metadata/finalizers/0", "/metadata/finalizers/-"])
        assert.equal(status("patch", claims, jsonPatch, [{ op, path, value: {} }]), 403, `${op} ${path}`);
    assert.equal(status("update", claims, json, { metadata: { name: "web" } }), 403);
    assert.equal(status("update", claims, json, {}), 403);
    assert.equal(status("update", claims, json, { metadata: { name: "web", finalizers: protection } }), 200);
    assert.equal(status("create", claims, json, { metadata: { name: "web" } }), 200);
    const labels = { metadata: { uid: "u", labels: { a: "b" } } };
    for (const type of [merge, strategic, "application/apply-patch+yaml"])
      assert.equal(status("patch", claims, type, labels), 200);
    const label = [{ op: "add", path: "/metadata/labels/a", value: "b" }];
    assert.equal(status("patch", claims, jsonPatch, label), 200);
  });

  test("must have a name of its own, by which it is counted", () => {
    assert.equal(status("create", "configmaps", json, { metadata: { name: "web" } }, ""), 200);
    assert.equal(status("create", "configmaps", json, { metadata: { generateName: "web-" } }, ""), 400);
    assert.equal(status("create", "configmaps", json, {}, ""), 400);
  });

  test("may be deleted with options, or without", () => {
    assert.equal(status("delete", "secrets", undefined, ""), 200);
    assert.equal(status("delete", "secrets", json, { gracePeriodSeconds: 0 }), 200);
    assert.equal(status("delete", "secrets", "application/yaml", "a: b"), 415);
  });

  test("says what it asks for, in whatever form", () => {
    const asks = (verb: Verb, resource: string, contentType: string, body: unknown) => {
      const path = parseKubePath(`${groups[resource] ?? "/api/v1"}/namespaces/shop/${resource}/web`);
      assert.ok(path !== undefined);
      return checkWrite({ consumer, verb, path, contentType, body: Buffer.from(JSON.stringify(body)) }).asks;
    };
    const replace = (path: string, value: unknown) => [{ op: "replace", path, value }];
    const requests = { requests: { storage: "2" } };
    for (const [path, value] of [
      ["/spec/resources/requests/storage", "2"],
      ["/spec/resources/requests", { storage: "2" }],
      ["/spec", { resources: requests }],
    ] as const)
      assert.deepEqual(asks("patch", "persistentvolumeclaims", jsonPatch, replace(path, value)), { storage: 2 }, path);
    const ports = [{ port: 80 }, { port: 443 }];
    const opened = replace("/spec", { type: "NodePort", ports });
    assert.deepEqual(asks("patch", "services", jsonPatch, [...opened, ...replace("/spec/type", "ClusterIP")]), {
      exposed: true,
      ports: 2,
    });
    const balanced = { spec: { type: "LoadBalancer", ports } };
    assert.deepEqual(asks("patch", "services", merge, balanced), { exposed: true, ports: 2 });
    assert.deepEqual(asks("update", "services", json, { spec: {} }), { exposed: false });
    const endpoints = [{ addresses: ["10.0.0.1"] }];
    const spec = { externalName: "db.other" };
    for (const type of ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]) {
      const asked = asks("patch", "endpointslices", `application/${type}`, { endpoints });
      assert.deepEqual(asked, { addresses: ["10.0.0.1"] });
      assert.deepEqual(asks("patch", "services", `application/${type}`, { spec }), { externalNames: ["db.other"] });
    }
    assert.deepEqual(asks("update", "endpointslices", json, { endpoints }), { addresses: ["10.0.0.1"] });
    for (const [path, value] of [
      ["/spec/externalName", "db.other"],
      ["/spec", spec],
      ["", { spec }],
    ] as const)
      assert.deepEqual(asks("patch", "services", jsonPatch, replace(path, value)), { externalNames: ["db.other"] });
  });

  test("asks for no volume of less than nothing", () => {
    for (const storage of ["-1000Ti", "-1", -1, "-1n"]) {
      const claim = { spec: { resources: { requests: { storage } } } };
      const volumes = [{ name: "x", ephemeral: { volumeClaimTemplate: claim } }];
      const shadow = { spec: { pod: { spec: { volumes } } } };
      for (const verb of ["create", "update"] as const) {
        assert.equal(status(verb, "persistentvolumeclaims", json, claim), 422);
        assert.equal(status(verb, "shadowpods", json, shadow), 422);
      }
      for (const type of [merge, "application/apply-patch+yaml"]) {
        assert.equal(status("patch", "persistentvolumeclaims", type, claim), 422);
        assert.equal(status("patch", "shadowpods", type, shadow), 422);
      }
      const whole = [{ op: "replace", path: "/spec/pod", value: shadow.spec.pod }];
      assert.equal(status("patch", "shadowpods", jsonPatch, whole), 422);
      const amount = [{ op: "replace", path: "/spec/resources/requests/storage", value: storage }];
      assert.equal(status("patch", "persistentvolumeclaims", jsonPatch, amount), 422);
    }
    const claim = { spec: { resources: { requests: { storage: "0" } } } };
    assert.equal(status("create", "persistentvolumeclaims", json, claim), 200);
  });

  test("asks for no volume by an amount that is known to the API alone", () => {
    // Read as 100Ti, or as a trillion.
    for (const storage of ['" 100Ti"', '"100Ti "', '"1e000012"', '"1e4294967308"', "1e400", "true", "{}", '["1Gi"]']) {
      const claim = `{"spec":{"resources":{"requests":{"storage":${storage}}}}}`;
      const volumes = `[{"name":"x","ephemeral":{"volumeClaimTemplate":${claim}}}]`;
      const shadow = `{"spec":{"pod":{"spec":{"volumes":${volumes}}}}}`;
      for (const verb of ["create", "update"] as const) {
        assert.equal(status(verb, "persistentvolumeclaims", json, claim), 422, storage);
        assert.equal(status(verb, "shadowpods", json, shadow), 422, storage);
      }
      const amount = `[{"op":"replace","path":"/spec/resources/requests/storage","value":${storage}}]`;
      assert.equal(status("patch", "persistentvolumeclaims", jsonPatch, amount), 422, storage);
    }
    const none = { spec: { resources: { requests: { storage: null } } } };
    assert.equal(status("patch", "persistentvolumeclaims", merge, none), 200);
  });

  test("changes type and ports of an exposed Service together, all of them", () => {
    const ports = [{ port: 80 }];
    const adding = ["application/strategic-merge-patch+json", "application/apply-patch+yaml"];
    for (const type of [merge, ...adding]) {
      assert.equal(status("patch", "services", type, { spec: { type: "NodePort" } }), 422, type);
      assert.equal(status("patch", "services", type, { spec: { ports } }), 422, type);
      assert.equal(status("patch", "services", type, { spec: { type: "ClusterIP" } }), 200, type);
      assert.equal(status("patch", "services", type, { spec: { type: "ClusterIP", ports } }), 200, type);
      assert.equal(status("patch", "services", type, { spec: { selector: { app: "web" } } }), 200, type);
    }
    for (const type of adding)
      assert.equal(status("patch", "services", type, { spec: { type: "NodePort", ports } }), 422, type);
    assert.equal(status("patch", "services", merge, { spec: { type: "NodePort", ports: null } }), 422);
    assert.equal(status("patch", "services", merge, { spec: { type: "NodePort", ports } }), 200);
    assert.equal(status("patch", "services", merge, { spec: { type: "NodePort", Ports: ports } }), 400);
    const at = (path: string, value: unknown) => [{ op: "add", path, value }];
    for (const [path, value] of [
      ["/spec/type", "NodePort"],
      ["/spec/ports", ports],
      ["/spec/ports/-", ports[0]],
      ["/spec", { ports }],
    ] as const)
      assert.equal(status("patch", "services", jsonPatch, at(path, value)), 422, path);
    assert.equal(status("patch", "services", jsonPatch, at("/spec", { type: "NodePort", ports })), 200);
  });

  test("changes what comes with a pod by no part of a JSON patch", () => {
    const at = (path: string) => [{ op: "replace", path, value: { spec: {} } }];
    assert.equal(status("patch", "shadowpods", jsonPatch, at("/spec/pod")), 200);
    assert.equal(status("patch", "shadowpods", jsonPatch, at("/spec/contract")), 200);
    assert.equal(status("patch", "shadowpods", jsonPatch, at("/spec/pod/spec")), 403);
    assert.equal(status("patch", "shadowpods", jsonPatch, at("/spec/pod/spec/volumes/0/ephemeral")), 403);
    assert.equal(status("patch", "shadowpods", jsonPatch, at("/spec/pod/")), 403);
    assert.equal(status("patch", "shadowpods", jsonPatch, at("/spec~1pod/spec")), 200);
    // The API server takes what stands before the first slash for nothing.
    for (const path of [
      "x/spec/pod/spec/volumes/-",
      "x/spec/pod",
      "spec/pod/spec",
      "#/spec/pod/spec",
      " /spec/pod/spec",
    ])
      for (const op of ["add", "replace", "remove", "test"])
        assert.equal(status("patch", "shadowpods", jsonPatch, [{ op, path, value: {} }]), 400, `${op} ${path}`);
  });

  test("names what a JSON patch changes from the top", () => {
    for (const resource of ["configmaps", "services", "ingresses", "endpointslices", "persistentvolumeclaims"])
      for (const path of ["x/metadata/labels/a", "metadata", "x"])
        assert.equal(
          status("patch", resource, jsonPatch, [{ op: "add", path, value: "b" }]),
          400,
          `${resource} ${path}`,
        );
  });

  test("changes where a slice leads by no JSON patch, and leads nowhere by names", () => {
    for (const [path, value] of [
      ["/endpoints/0/addresses/0", "10.0.0.1"],
      ["/endpoints/-", { addresses: ["10.0.0.1"] }],
      ["/endpoints", []],
      ["/metadata", {}],
      ["", {}],
    ])
      assert.equal(status("patch", "endpointslices", jsonPatch, [{ op: "add", path, value }]), 403);
    assert.equal(status("patch", "endpointslices", jsonPatch, [{ op: "remove", path: "/endpoints/0" }]), 403);
    const labelling = [{ op: "add", path: "/metadata/labels/a", value: "b" }];
    assert.equal(status("patch", "endpointslices", jsonPatch, labelling), 200);
    assert.equal(status("create", "endpointslices", json, { addressType: "FQDN", endpoints: [] }), 403);
    assert.equal(status("create", "endpointslices", json, { addressType: "IPv4", endpoints: [] }), 200);
    for (const folded of [
      { Endpoints: [{ addresses: ["10.0.0.1"] }] },
      { endpoints: [{ Addresses: ["10.0.0.1"] }] },
      { ADDRESSTYPE: "FQDN" },
      { endpoints: { 0: {} } },
      { endpoints: [{ addresses: [1] }] },
    ])
      for (const verb of ["create", "update"] as const) assert.equal(status(verb, "endpointslices", json, folded), 400);
    assert.equal(status("patch", "services", jsonPatch, [{ op: "add", path: "/spec/externalName", value: 7 }]), 400);
  });

  for (const [resource, spec] of [
    ["services", { Type: "NodePort" }],
    ["services", { ExternalName: "db.other" }],
    ["services", { externalName: ["db.other"] }],
    ["persistentvolumeclaims", { Resources: { requests: { storage: "1" } } }],
    ["persistentvolumeclaims", { resources: { Requests: { storage: "1" } } }],
    ["persistentvolumeclaims", { resources: { requests: { STORAGE: "1" } } }],
  ] as const)
    test(`may not ask in another spelling: ${JSON.stringify(spec)}`, () =>
      assert.equal(status("create", resource, json, { metadata: { name: "a" }, spec }), 400));
});
