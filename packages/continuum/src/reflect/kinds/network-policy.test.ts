import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NetworkPolicy, Pod } from "@fjord/kube";
import type { TwinContext } from "../reflected-kind.ts";
import { MOST_PODS, networkPolicies } from "./network-policy.ts";
import { contextOf } from "./test-context.ts";

const metadata = { name: "walls", namespace: "shop" };

describe("the twin of a NetworkPolicy", () => {
  const policy = (spec: NetworkPolicy["spec"]): NetworkPolicy => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata,
    spec,
  });
  const ingressOf = (from: object[]) => {
    const forged = networkPolicies.forge(policy({ podSelector: {}, ingress: [{ from }] }), contextOf());
    return (forged?.spec as NetworkPolicy["spec"])?.ingress;
  };
  const twins = (...values: string[]) => ({
    matchLabels: { "fjord.dev/consumer": "consumer" },
    matchExpressions: [{ key: "fjord.dev/origin-namespace", operator: "In", values }],
  });

  it("lets in all of the consumer's namespaces, not all of the provider's", () => {
    assert.deepEqual(ingressOf([{ namespaceSelector: {} }]), [
      { from: [{ namespaceSelector: twins("bank", "shop") }] },
    ]);
  });

  it("chooses namespaces by the labels that they have at home", () => {
    const byTeam = { namespaceSelector: { matchLabels: { team: "b" } }, podSelector: {} };
    assert.deepEqual(ingressOf([byTeam]), [{ from: [{ namespaceSelector: twins("bank"), podSelector: {} }] }]);
    const byName = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } } };
    assert.deepEqual(ingressOf([byName]), [{ from: [{ namespaceSelector: twins("shop") }] }]);
  });

  it("lets nobody in where all that may come in is elsewhere", () => {
    assert.deepEqual(ingressOf([{ namespaceSelector: { matchLabels: { team: "c" } } }]), []);
  });

  it("keeps rules that name no namespace, and those for everyone", () => {
    assert.deepEqual(ingressOf([{ podSelector: { matchLabels: { a: "b" } } }]), [
      { from: [{ podSelector: { matchLabels: { a: "b" } } }] },
    ]);
    assert.deepEqual(ingressOf([]), [{ from: [] }]);
  });

  const podAt = (address: string, labels: Record<string, string>, change: object = {}): Pod => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${address}`, namespace: "shop", labels },
    spec: { containers: [{ name: "main", ports: [{ name: "http", containerPort: Number(labels.port ?? 8080) }] }] },
    status: { phase: "Running", podIPs: [{ ip: address }] },
    ...change,
  });
  const elsewhere = (pods: Record<string, readonly Pod[]>, change: Partial<TwinContext> = {}) =>
    contextOf({
      podsElsewhere: (namespace) => pods[namespace] ?? [],
      translateAddress: (address) => (address.startsWith("10.") ? address.replace(/^10\.42\./, "240.0.") : undefined),
      ...change,
    });
  const specOf = (spec: NetworkPolicy["spec"], context: TwinContext) =>
    networkPolicies.forge(policy(spec), context)?.spec as NonNullable<NetworkPolicy["spec"]>;
  const block = (address: string) => ({ ipBlock: { cidr: `${address}/32` } });
  const front = { podSelector: { matchLabels: { app: "front" } } };

  it("lets in those pods elsewhere that a selector means, by what they are called there, and no others", () => {
    const pods = [podAt("10.42.0.9", { app: "front" }), podAt("10.42.0.7", { app: "front" }), podAt("10.42.0.8", {})];
    const { ingress } = specOf(
      { podSelector: {}, ingress: [{ from: [front], ports: [{ port: "http" }] }] },
      elsewhere({ shop: pods }),
    );
    assert.deepEqual(ingress, [{ from: [front, block("240.0.0.7"), block("240.0.0.9")], ports: [{ port: "http" }] }]);
  });

  it("lets nobody in who has no address of its own, none that is known there, or has ended", () => {
    const { status } = podAt("10.42.0.5", {});
    const pods = [
      podAt("10.42.0.1", { app: "front" }, { spec: { hostNetwork: true } }),
      podAt("192.168.0.1", { app: "front" }),
      podAt("10.42.0.2", { app: "front" }, { status: { ...status, phase: "Succeeded" } }),
      podAt("10.42.0.3", { app: "front" }, { status: { phase: "Pending" } }),
    ];
    const { ingress } = specOf({ podSelector: {}, ingress: [{ from: [front] }] }, elsewhere({ shop: pods }));
    assert.deepEqual(ingress, [{ from: [front] }]);
  });

  it("does so by all addresses of a pod that has several", () => {
    const both = podAt("10.42.0.7", { app: "front" }, { status: { podIPs: [{ ip: "10.42.0.7" }, { ip: "fd77::7" }] } });
    const context = elsewhere({ shop: [both] }, { translateAddress: (address) => address });
    const { ingress } = specOf({ podSelector: {}, ingress: [{ from: [front] }] }, context);
    assert.deepEqual(ingress?.[0]?.from?.slice(1), [block("10.42.0.7"), { ipBlock: { cidr: "fd77::7/128" } }]);
  });

  it("chooses pods elsewhere by the labels of their namespaces at home", () => {
    const context = elsewhere({
      shop: [podAt("10.42.0.1", {})],
      bank: [podAt("10.42.0.2", {}), podAt("10.42.0.3", { app: "front" })],
    });
    const from = [{ namespaceSelector: { matchLabels: { team: "b" } }, ...front }];
    const { ingress } = specOf({ podSelector: {}, ingress: [{ from }] }, context);
    assert.deepEqual(ingress, [{ from: [{ namespaceSelector: twins("bank"), ...front }, block("240.0.0.3")] }]);
    assert.deepEqual(networkPolicies.podNamespaces?.(policy({ podSelector: {}, ingress: [{ from }] }), context), [
      "bank",
    ]);
  });

  it("leads out to pods elsewhere by the number of the port that their name means", () => {
    const pods = [
      podAt("10.42.0.1", { port: "80" }),
      podAt("10.42.0.2", { port: "81" }),
      podAt("10.42.0.3", { port: "80" }),
    ];
    const to = [{ podSelector: {} }];
    const { egress } = specOf(
      { podSelector: {}, egress: [{ to, ports: [{ port: "http" }, { port: 9000 }] }] },
      elsewhere({ shop: pods }),
    );
    assert.deepEqual(egress, [
      { to, ports: [{ port: "http" }, { port: 9000 }] },
      { to: [block("240.0.0.1"), block("240.0.0.3")], ports: [{ port: 80 }, { port: 9000 }] },
      { to: [block("240.0.0.2")], ports: [{ port: 81 }, { port: 9000 }] },
    ]);
  });

  it("leads nowhere on a port that a pod elsewhere does not have", () => {
    const { egress } = specOf(
      { podSelector: {}, egress: [{ to: [{ podSelector: {} }], ports: [{ port: "grpc" }] }] },
      elsewhere({ shop: [podAt("10.42.0.1", {})] }),
    );
    assert.deepEqual(egress, [{ to: [{ podSelector: {} }], ports: [{ port: "grpc" }] }]);
  });

  it("lets pods ask the provider for names where they may ask at home, and on no other port", () => {
    const dns = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } } };
    const rules = (rule: object) => specOf({ podSelector: {}, egress: [rule] }, contextOf()).egress;
    const there = { ...dns, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } };
    assert.deepEqual(rules({ to: [dns], ports: [{ protocol: "UDP", port: 53 }] }), [
      { to: [there], ports: [{ protocol: "UDP", port: 53 }] },
    ]);
    assert.deepEqual(rules({ to: [dns] }), [
      {
        to: [there],
        ports: [
          { protocol: "UDP", port: 53 },
          { protocol: "TCP", port: 53 },
        ],
      },
    ]);
    assert.deepEqual(rules({ to: [dns], ports: [{ port: 443 }] }), []);
    assert.deepEqual(rules({ to: [{ podSelector: {} }] }), [{ to: [{ podSelector: {} }] }]);
  });

  it("has blocks of addresses as they are there, and no rule without any of them", () => {
    const context = contextOf({
      translateBlock: ({ cidr }) => (cidr === "10.42.0.0/16" ? [{ cidr: "240.0.0.0/16" }] : []),
    });
    const from = (...cidrs: string[]) => cidrs.map((cidr) => ({ ipBlock: { cidr } }));
    const { ingress } = specOf(
      { podSelector: {}, ingress: [{ from: from("10.42.0.0/16", "10.0.0.0/24") }, { from: from("10.1.0.0/16") }] },
      context,
    );
    assert.deepEqual(ingress, [{ from: from("240.0.0.0/16") }]);
  });

  it("lets in so many and no more, and says so", () => {
    const pods = Array.from({ length: MOST_PODS + 3 }, (_, i) => podAt(`10.42.${i >> 8}.${i & 255}`, { app: "front" }));
    const context = elsewhere({ shop: pods });
    const spec = { podSelector: {}, ingress: [{ from: [front] }] };
    assert.equal(specOf(spec, context).ingress?.[0]?.from?.length, MOST_PODS + 1);
    assert.match(networkPolicies.lacking?.(policy(spec), context) ?? "", /1000 pods that run elsewhere, and 3 that/);
    assert.equal(networkPolicies.lacking?.(policy(spec), elsewhere({ shop: pods.slice(3) })), undefined);
  });
});
