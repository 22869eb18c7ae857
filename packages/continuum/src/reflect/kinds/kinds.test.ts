import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigMap, Ingress, PersistentVolumeClaim, PodDisruptionBudget, Secret } from "@fjord/kube";
import { builtInResources, resourceOf } from "../../reflection-rules.ts";
import { configMaps } from "./config-map.ts";
import { builtInKinds } from "./index.ts";
import { ingresses } from "./ingress.ts";
import { persistentVolumeClaims } from "./persistent-volume-claim.ts";
import { podDisruptionBudgets } from "./pod-disruption-budget.ts";
import { secrets } from "./secret.ts";
import { contextOf, podOf } from "./test-context.ts";

const metadata = { name: "one", namespace: "shop" };

it("rules can be about every kind that is reflected, and events", () => {
  const reflected = builtInKinds.map(({ kind }) => resourceOf(kind));
  assert.deepEqual(builtInResources.map(resourceOf).sort(), [...reflected, "events"].sort());
});

describe("ConfigMaps and Secrets", () => {
  const configMap: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata };
  const secret: Secret = { apiVersion: "v1", kind: "Secret", metadata };

  it("leave only where pods need them", () => {
    assert.equal(configMaps.policy, "Referenced");
    assert.equal(secrets.policy, "Referenced");
  });

  it("are copied whole, and nothing else of them", () => {
    const full = { ...configMap, data: { a: "1" }, binaryData: { b: "AA==" }, immutable: true };
    assert.deepEqual(configMaps.forge(full, contextOf()), {
      data: { a: "1" },
      binaryData: { b: "AA==" },
      immutable: true,
    });
    assert.deepEqual(configMaps.forge(configMap, contextOf()), { data: {}, binaryData: {} });
    assert.deepEqual(secrets.forge({ ...secret, data: { a: "AA==" } }, contextOf()), {
      data: { a: "AA==" },
      type: "Opaque",
    });
  });

  it("stay where they are the cluster's own", () => {
    const named = (name: string) => ({ ...configMap, metadata: { name, namespace: "shop" } });
    assert.equal(configMaps.neverLeaves?.(named("kube-root-ca.crt")), true);
    assert.equal(configMaps.neverLeaves?.(named("settings")), false);
    for (const type of ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "helm.sh/release.v1"])
      assert.equal(secrets.neverLeaves?.({ ...secret, type }), true, type);
    for (const type of ["Opaque", "kubernetes.io/dockerconfigjson", "kubernetes.io/tls"])
      assert.equal(secrets.neverLeaves?.({ ...secret, type }), false, type);
  });
});

describe("the twin of an Ingress", () => {
  const rules = [{ host: "shop.example.com", http: { paths: [] } }];
  const ingress = (annotations = {}): Ingress => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { ...metadata, annotations },
    spec: { ingressClassName: "mine", rules, tls: [{ hosts: ["shop.example.com"], secretName: "tls" }] },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
  });

  it("is of the provider's default class, or of the one that is named", () => {
    const forged = ingresses.forge(ingress(), contextOf());
    assert.deepEqual(forged, { spec: { rules, tls: [{ hosts: ["shop.example.com"], secretName: "tls" }] } });
    const named = ingresses.forge(ingress({ "fjord.dev/remote-class": "theirs" }), contextOf());
    assert.equal((named?.spec as Ingress["spec"])?.ingressClassName, "theirs");
  });

  it("keeps the class that the provider gave it", () => {
    const wanted = ingresses.forge(ingress(), contextOf()) ?? {};
    assert.deepEqual(ingresses.seen(ingress(), wanted), wanted);
  });
});

describe("the twin of a claim", () => {
  const claim: PersistentVolumeClaim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata,
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "mine",
      volumeName: "pv-1",
      volumeMode: "Filesystem",
      dataSource: { kind: "VolumeSnapshot", name: "mine" },
      resources: { requests: { storage: "1Gi" } },
    },
  };

  it("asks for the same, without what is of the own cluster", () => {
    assert.deepEqual(persistentVolumeClaims.forge(claim, contextOf()), {
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        resources: { requests: { storage: "1Gi" } },
      },
    });
  });

  it("stays while the original does, and only ever grows", () => {
    const wanted = persistentVolumeClaims.forge(claim, contextOf()) ?? {};
    const bound = { ...claim, spec: { ...claim.spec, storageClassName: "theirs", volumeName: "pv-9" } };
    assert.equal(persistentVolumeClaims.lasting, true);
    assert.deepEqual(persistentVolumeClaims.seen(bound, wanted), wanted);
  });
});

describe("the status of a claim", () => {
  const claim = (status: object): PersistentVolumeClaim => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata,
    status,
  });
  const from = (twin: object, own: object = {}) =>
    persistentVolumeClaims.statusFrom?.(claim(twin), claim(own), contextOf()) as PersistentVolumeClaim["status"];

  it("tells of its twin in a condition, and keeps what the own cluster says", () => {
    const resizing = { type: "Resizing", status: "True" };
    const status = from({ phase: "Bound", capacity: { storage: "2Gi" } }, { phase: "Pending", conditions: [resizing] });
    assert.equal(status?.phase, "Pending");
    assert.deepEqual(status?.conditions, [
      resizing,
      {
        type: "fjord.dev/provider",
        status: "True",
        reason: "Bound",
        message: "the claim's twin at harbor is Bound, of 2Gi",
      },
    ]);
    assert.deepEqual(from({ phase: "Bound", capacity: { storage: "2Gi" } }, status), status);
  });

  it("tells nothing of a twin that is gone", () => {
    const resizing = { type: "Resizing", status: "True" };
    const without = (own: object) => persistentVolumeClaims.statusWithout?.(claim(own), contextOf());
    const before = from({ phase: "Bound" }, { phase: "Pending", conditions: [resizing] }) ?? {};
    assert.deepEqual(without(before), { phase: "Pending", conditions: [resizing] });
    assert.equal(without({ phase: "Pending" }), undefined);
  });

  it("believes nothing that is not a phase or a size", () => {
    const [condition] = from({ phase: "Evil", capacity: { storage: "\u001b[31m" } })?.conditions ?? [];
    assert.equal(condition?.reason, "Pending");
    assert.equal(condition?.message, "the claim's twin at harbor is Pending");
  });
});

describe("the twin of a PodDisruptionBudget", () => {
  const budget = (disruptionsAllowed: number, selector?: object): PodDisruptionBudget =>
    ({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata,
      spec: { minAvailable: "50%", ...(selector && { selector }) },
      status: { disruptionsAllowed },
    }) as PodDisruptionBudget;
  const guests = [podOf("a", { labels: { app: "web" } }), podOf("b", { labels: { app: "web" } }), podOf("c")];
  const minAvailable = (allowed: number, selector: object | undefined, there = guests) => {
    const forged = podDisruptionBudgets.forge(budget(allowed, selector), contextOf({ guests: () => there }));
    return (forged?.spec as PodDisruptionBudget["spec"])?.minAvailable;
  };

  it("keeps as many guests as the whole can do without no more of", () => {
    const selector = { matchLabels: { app: "web" } };
    assert.equal(minAvailable(0, selector), 2);
    assert.equal(minAvailable(1, selector), 1);
    assert.equal(minAvailable(7, selector), 0);
    assert.equal(minAvailable(1, {}), 2);
  });

  it("counts guests that are healthy", () => {
    const ill = [podOf("a"), podOf("b", { ready: false })];
    assert.equal(minAvailable(0, {}, ill), 1);
  });

  it("does not exist where it protects nobody", () => {
    assert.equal(minAvailable(0, { matchLabels: { app: "other" } }), undefined);
    assert.equal(minAvailable(0, undefined), undefined);
    assert.equal(minAvailable(0, {}, []), undefined);
  });
});

it("a kind comes after the one that it accompanies", () => {
  const names = builtInKinds.map(({ kind }) => kind.kind);
  for (const { kind, companion } of builtInKinds)
    if (companion) assert.ok(names.indexOf(companion.kind.kind) < names.indexOf(kind.kind), kind.kind);
});
