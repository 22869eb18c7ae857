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

  it("has no address, port or balancer of the own cluster", () => {
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
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
      ports: [{ port: 80 }],
      externalTrafficPolicy: "Local",
      allocateLoadBalancerNodePorts: false,
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    });
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

  it("does not exist for the Service of the API server", () => {
    const kubernetes = { ...serviceOf({}), metadata: { name: "kubernetes", namespace: "default" } };
    assert.equal(services.neverLeaves?.(kubernetes), true);
    assert.equal(services.neverLeaves?.(serviceOf({})), false);
  });
});
