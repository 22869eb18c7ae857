import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Service } from "@fjord/kube";
import { services } from "./service.ts";
import { contextOf } from "./test-context.ts";

const serviceOf = (spec: object, annotations: Record<string, string> = {}): Service => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop", annotations },
  spec: spec as Service["spec"],
});
const forged = (spec: object, annotations?: Record<string, string>) =>
  (services.forge(serviceOf(spec, annotations), contextOf()) as { spec: NonNullable<Service["spec"]> }).spec;

/** What an API server adds to a Service that says as little as possible. */
const filledIn = {
  clusterIP: "10.0.0.7",
  clusterIPs: ["10.0.0.7"],
  ipFamilies: ["IPv4"],
  ipFamilyPolicy: "SingleStack",
  internalTrafficPolicy: "Cluster",
  sessionAffinity: "None",
  type: "ClusterIP",
};

describe("the twin of a Service", () => {
  it("has the fields that mean something everywhere", () => {
    const spec = {
      type: "ClusterIP",
      selector: { app: "web" },
      ports: [{ name: "http", port: 80, targetPort: "http", protocol: "TCP", appProtocol: "http" }],
      publishNotReadyAddresses: true,
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    };
    assert.deepEqual(forged(spec), spec);
    const external = { type: "ExternalName", externalName: "db.example.com" };
    assert.deepEqual(forged(external), external);
  });

  it("leads to the twin of the namespace that it leads to at home, and is not there where that has none", () => {
    const at = (externalName: string) => {
      const service = serviceOf({ type: "ExternalName", externalName });
      const { spec } = (services.forge(service, contextOf()) ?? {}) as { spec?: Service["spec"] };
      return [spec?.externalName, services.lacking?.(service, contextOf()), services.namespaceNamed?.(service)];
    };
    assert.deepEqual(at("db.bank.svc.cluster.local"), ["db.bank-1.svc.cluster.local", undefined, "bank"]);
    assert.deepEqual(at("db-0.db.shop.svc"), ["db-0.db.shop-1.svc", undefined, "shop"]);
    assert.deepEqual(at("db.example.com"), ["db.example.com", undefined, undefined]);
    assert.deepEqual(at("db.bank"), ["db.bank", undefined, undefined]);
    const [name, why, named] = at("db.secrets.svc.cluster.local");
    assert.deepEqual([name, named], [undefined, "secrets"]);
    assert.match(why ?? "", /no twin at harbor: it leads to namespace secrets, which has none there/);
    assert.equal(forged({ ...filledIn, externalName: "db.secrets.svc" }).externalName, undefined);
  });

  it("asks for the address that the original has, and takes another where that is not to be had", () => {
    const spec = { ...filledIn, ports: [{ port: 80 }] };
    assert.equal(forged(spec).clusterIP, "10.0.0.7");
    const wanted = services.forge(serviceOf(spec), contextOf()) ?? {};
    const { clusterIP: _, ...others } = wanted.spec as { clusterIP: string };
    assert.deepEqual(services.modest?.(wanted), { spec: others });
    const headless = services.forge(serviceOf({ ...filledIn, clusterIP: "None" }), contextOf()) ?? {};
    assert.equal(services.modest?.(headless), undefined);
  });

  it("asks for the address anew once it is no longer an ExternalName", () => {
    const wanted = services.forge(serviceOf({ ...filledIn, ports: [{ port: 80 }] }), contextOf()) ?? {};
    const twin = serviceOf({ type: "ExternalName", externalName: "db.example.com" });
    assert.notDeepEqual(services.seen(twin, wanted), wanted);
    assert.equal((services.seen(twin, wanted).spec as { clusterIP?: string }).clusterIP, undefined);
    const left = { ...filledIn, type: "ExternalName", externalName: "db.example.com" };
    assert.equal(forged(left).clusterIP, undefined);
  });

  it("has no port, balancer or outer address of the own cluster", () => {
    const spec = forged({
      ...filledIn,
      type: "LoadBalancer",
      ports: [{ port: 80, nodePort: 30080 }],
      externalIPs: ["192.0.2.1"],
      loadBalancerIP: "192.0.2.2",
      loadBalancerClass: "mine",
      healthCheckNodePort: 30081,
      externalTrafficPolicy: "Local",
      loadBalancerSourceRanges: ["192.0.2.0/24"],
      allocateLoadBalancerNodePorts: false,
    });
    assert.deepEqual(spec, {
      type: "LoadBalancer",
      clusterIP: "10.0.0.7",
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
      ports: [{ port: 80 }],
      externalTrafficPolicy: "Local",
      allocateLoadBalancerNodePorts: false,
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    });
  });

  it("names no address of the own cluster in an annotation either", () => {
    const { ownAnnotations = [] } = services;
    assert.ok(ownAnnotations.includes("metallb.io/loadBalancerIPs"));
    assert.ok(!ownAnnotations.includes("external-dns.alpha.kubernetes.io/hostname"));
  });

  it("is headless where the original is", () => {
    assert.equal(forged({ ...filledIn, clusterIP: "None", clusterIPs: ["None"] }).clusterIP, "None");
  });

  it("has both families only where the provider has both", () => {
    const policyOf = (ipFamilyPolicy: string) => forged({ ...filledIn, ipFamilyPolicy }).ipFamilyPolicy;
    assert.equal(policyOf("SingleStack"), undefined);
    assert.equal(policyOf("PreferDualStack"), "PreferDualStack");
    assert.equal(policyOf("RequireDualStack"), "PreferDualStack");
  });

  it("has the one family of the original where the provider has that beside another", () => {
    const at = (families: readonly ("IPv4" | "IPv6")[] | undefined, spec: object) => {
      const body = services.forge(serviceOf({ ...filledIn, ...spec }), contextOf({ families: () => families }));
      const { ipFamilies, ipFamilyPolicy } = (body as { spec: NonNullable<Service["spec"]> }).spec;
      return [ipFamilyPolicy, ipFamilies];
    };
    const ipv6 = { ipFamilies: ["IPv6"] };
    assert.deepEqual(at(["IPv4", "IPv6"], ipv6), ["SingleStack", ["IPv6"]]);
    assert.deepEqual(at(["IPv4", "IPv6"], {}), ["SingleStack", ["IPv4"]]);
    assert.deepEqual(at(["IPv4", "IPv6"], { ipFamilyPolicy: "PreferDualStack" }), ["PreferDualStack", undefined]);
    // Which it would refuse, or has anyway.
    for (const there of [["IPv4"] as const, ["IPv6"] as const, undefined])
      assert.deepEqual(at(there, ipv6), [undefined, undefined]);
    assert.deepEqual(at(["IPv4", "IPv6"], { type: "ExternalName", externalName: "a.b" }), [undefined, undefined]);
  });

  it("is corrected where it has another family than is wanted, or both where one is", () => {
    const context = contextOf({ families: () => ["IPv4", "IPv6"] });
    const wanted = services.forge(serviceOf({ ...filledIn, ipFamilies: ["IPv6"] }), context) ?? {};
    assert.notDeepEqual(services.seen(serviceOf(filledIn), wanted), wanted);
    const single = services.forge(serviceOf(filledIn), contextOf()) ?? {};
    const both = serviceOf({ ...filledIn, ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "PreferDualStack" });
    assert.notDeepEqual(services.seen(both, single), single);
  });

  it("is of the class that the annotation names", () => {
    const spec = { ...filledIn, type: "LoadBalancer", loadBalancerClass: "mine" };
    assert.equal(forged(spec).loadBalancerClass, undefined);
    assert.equal(forged(spec, { "fjord.dev/remote-class": "theirs" }).loadBalancerClass, "theirs");
  });

  it("is the same as the original whatever the provider has filled in", () => {
    const wanted = services.forge(
      serviceOf({ ...filledIn, ports: [{ port: 80, protocol: "TCP", targetPort: 80 }] }),
      contextOf(),
    );
    const twin = serviceOf({
      ...filledIn,
      clusterIP: "10.96.0.1",
      clusterIPs: ["10.96.0.1"],
      loadBalancerClass: "cloud",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80, nodePort: 31000 }],
    });
    assert.deepEqual(services.seen(twin, wanted ?? {}), wanted);
  });

  it("is told its type and its ports together, where either changes", () => {
    const twin = serviceOf({ ...filledIn, type: "NodePort", ports: [{ port: 80, nodePort: 31000 }] });
    const amended = (spec: object) => services.amended?.({ spec }, twin);
    const ports = [{ port: 80 }];
    assert.deepEqual(amended({ type: "LoadBalancer" }), { spec: { type: "LoadBalancer", ports } });
    assert.deepEqual(amended({ ports: [{ port: 81 }] }), { spec: { type: "NodePort", ports: [{ port: 81 }] } });
    assert.deepEqual(amended({ selector: { app: "web" } }), { spec: { selector: { app: "web" } } });
    assert.deepEqual(services.amended?.({ metadata: {} }, twin), { metadata: {} });
  });

  it("does not exist for the Service of the API server", () => {
    const kubernetes = { ...serviceOf({}), metadata: { name: "kubernetes", namespace: "default" } };
    assert.equal(services.neverLeaves?.(kubernetes), true);
    assert.equal(services.neverLeaves?.(serviceOf({})), false);
  });
});
