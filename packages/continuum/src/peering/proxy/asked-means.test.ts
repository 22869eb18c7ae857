import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askedMeans, mostAsked, SHADOW_PODS } from "./asked-means.ts";

const GIB = 1024 ** 3;
const claim = (storage: unknown) => ({ spec: { resources: { requests: { storage } } } });
const service = (type: unknown) => ({ spec: { type } });

describe("what a write asks for", () => {
  const storages: [unknown, object][] = [
    ["10Gi", { storage: 10 * GIB }],
    [GIB, { storage: GIB }],
    ["1500m", { storage: 2 }],
    ["-10Gi", { storage: 0 }],
    ["many", {}],
    [null, {}],
    [{ a: 1 }, {}],
  ];
  for (const [amount, asked] of storages)
    test(`in a claim of ${JSON.stringify(amount)}`, () => {
      assert.deepEqual(askedMeans("persistentvolumeclaims", claim(amount), true), asked);
      assert.deepEqual(askedMeans("persistentvolumeclaims", claim(amount), false), asked);
    });

  test("in a shadow pod is what its pod brings along", () => {
    const volumes = [
      { name: "own", persistentVolumeClaim: { claimName: "own" } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: claim("10Gi") } },
      { name: "more", ephemeral: { volumeClaimTemplate: claim("2Gi") } },
      { name: "broken", ephemeral: {} },
    ];
    const brought = {
      volumes: [
        { name: "scratch", bytes: 10 * GIB },
        { name: "more", bytes: 2 * GIB },
      ],
    };
    const shadow = (volumes: unknown) => ({ metadata: { name: "web" }, spec: { pod: { spec: { volumes } } } });
    assert.deepEqual(askedMeans(SHADOW_PODS, shadow(volumes), true), brought);
    assert.deepEqual(askedMeans(SHADOW_PODS, shadow(volumes.slice(0, 1)), true), {});
    assert.deepEqual(askedMeans(SHADOW_PODS, shadow("none"), true), {});
    const less = { name: "less", ephemeral: { volumeClaimTemplate: claim("-1000Ti") } };
    assert.deepEqual(askedMeans(SHADOW_PODS, shadow([less]), true), { volumes: [{ name: "less", bytes: 0 }] });
    const long = { name: "x".repeat(1_000), ephemeral: { volumeClaimTemplate: claim("1") } };
    assert.deepEqual(askedMeans(SHADOW_PODS, shadow([long]), true), {
      volumes: [{ name: "x".repeat(63), bytes: 1 }],
    });
  });

  const types: [unknown, boolean][] = [
    ["LoadBalancer", true],
    ["NodePort", true],
    ["ClusterIP", false],
    ["ExternalName", false],
    [null, false],
  ];
  for (const [type, exposed] of types)
    test(`in a Service of type ${type}`, () => {
      assert.deepEqual(askedMeans("services", service(type), true), { exposed });
      assert.deepEqual(askedMeans("services", service(type), false), { exposed });
    });

  test("in a Service that says no type is a change only where it is whole", () => {
    assert.deepEqual(askedMeans("services", { spec: {} }, true), { exposed: false });
    assert.deepEqual(askedMeans("services", { spec: { ports: [] } }, false), {});
    assert.deepEqual(askedMeans("services", { spec: { ports: [{ port: 80 }, {}] } }, true), {
      exposed: false,
      ports: 2,
    });
  });

  for (const nonsense of [undefined, null, 1, "spec", [], { spec: "x" }, { spec: { resources: 1 } }])
    test(`is nothing in ${JSON.stringify(nonsense)}`, () => {
      assert.deepEqual(askedMeans("persistentvolumeclaims", nonsense, false), {});
      assert.deepEqual(askedMeans("services", nonsense, false), {});
      assert.deepEqual(askedMeans("configmaps", nonsense, true), {});
    });

  test("in an Ingress are its hosts", () => {
    const ingress = { spec: { rules: [{ host: "a.example.com" }] } };
    assert.deepEqual(askedMeans("ingresses.networking.k8s.io", ingress, true), { hosts: ["a.example.com"] });
    assert.deepEqual(askedMeans("ingresses.networking.k8s.io", { metadata: { labels: {} } }, false), {});
    assert.deepEqual(mostAsked({ hosts: ["a"] }, { hosts: ["b"] }), { hosts: ["a", "b"] });
  });

  test("in a Service are its names in the DNS", () => {
    const service = { metadata: { annotations: { "external-dns.alpha.kubernetes.io/hostname": "a.example.com" } } };
    assert.deepEqual(askedMeans("services", service, true), { hosts: ["a.example.com"], exposed: false });
    assert.deepEqual(askedMeans("services", service, false), { hosts: ["a.example.com"] });
  });

  test("in an EndpointSlice is where it leads, and in a Service what it stands for, of whatever type", () => {
    const slice = { endpoints: [{ addresses: ["10.0.0.1"] }] };
    assert.deepEqual(askedMeans("endpointslices.discovery.k8s.io", slice, true), { addresses: ["10.0.0.1"] });
    assert.deepEqual(askedMeans("endpointslices.discovery.k8s.io", { metadata: {} }, false), {});
    const named = { spec: { externalName: "db.other" } };
    assert.deepEqual(askedMeans("services", named, false), { externalNames: ["db.other"] });
    assert.deepEqual(askedMeans("services", named, true), { exposed: false, externalNames: ["db.other"] });
    assert.deepEqual(askedMeans("services", { spec: { externalName: "" } }, false), {});
    assert.deepEqual(askedMeans("services", { spec: { externalName: null } }, false), {});
    assert.deepEqual(mostAsked({ addresses: ["a"], externalNames: ["c"] }, { addresses: ["b"] }), {
      addresses: ["a", "b"],
      externalNames: ["c"],
    });
  });

  test("in several parts is the most of them", () => {
    assert.deepEqual(mostAsked({}, {}), {});
    assert.deepEqual(mostAsked({ storage: 3 }, { storage: 2 }), { storage: 3 });
    assert.deepEqual(mostAsked({ storage: 0 }, {}), { storage: 0 });
    const [one, other] = [
      { name: "a", bytes: 1 },
      { name: "a", bytes: 2 },
    ];
    assert.deepEqual(mostAsked({ volumes: [one] }, { volumes: [other] }), { volumes: [one, other] });
    assert.deepEqual(mostAsked({ exposed: true }, { exposed: false }), { exposed: true });
    assert.deepEqual(mostAsked({ exposed: false }, { exposed: true }), { exposed: true });
    assert.deepEqual(mostAsked({ exposed: false }, {}), { exposed: false });
    assert.deepEqual(mostAsked({ ports: 3 }, { ports: 2 }), { ports: 3 });
    assert.deepEqual(mostAsked({}, { exposed: true }), { exposed: true });
  });
});
