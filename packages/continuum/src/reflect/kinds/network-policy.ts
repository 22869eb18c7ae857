import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL } from "@fjord/api";
import { type LabelSelector, matchesSelector, NetworkPolicy, type Pod } from "@fjord/kube";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";
import { dnsRules } from "./dns-rule.ts";
import { portsAt } from "./named-ports.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;
export type Peer = NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>[number];
type Ingress = NonNullable<Spec["ingress"]>[number];
export type Egress = NonNullable<Spec["egress"]>[number];

/** The label that Kubernetes gives every namespace. */
const NAME_LABEL = "kubernetes.io/metadata.name";
/** Of all rules of a policy. Those beyond are not let in: a policy of megabytes would be a burden to whoever enforces it. */
export const MOST_PODS = 1_000;

/**
 * Policies for guests as for pods at home. Namespaces are chosen by their twins, and never another's: a selector that means all
 * namespaces here would mean the provider's own, and those of its other consumers. Pods that run elsewhere are no pods there:
 * those that a selector means are let in by their addresses.
 */
export const networkPolicies: ReflectedKind<NetworkPolicy> = {
  kind: NetworkPolicy,
  policy: "DenyList",
  follows: ["namespaces", "addresses"],
  forge(policy, context) {
    const { podSelector, policyTypes, ingress, egress } = policy.spec ?? {};
    const pods = new PodBlocks(context);
    return {
      spec: {
        podSelector: podSelector ?? {},
        ...(policyTypes && { policyTypes }),
        ...(ingress && { ingress: ingress.flatMap((rule) => ingressAt(rule, pods)) }),
        ...(egress && { egress: egress.flatMap((rule) => egressAt(rule, pods)) }),
      },
    };
  },
  seen: ({ spec }): Body => ({ spec: { ...spec } }),
  podNamespaces: ({ spec }, context) => {
    const peers = [
      ...(spec?.ingress ?? []).flatMap(({ from = [] }) => from),
      ...(spec?.egress ?? []).flatMap(({ to = [] }) => to),
    ];
    return [...new Set(peers.flatMap((peer) => namespacesOf(peer, context)))];
  },
  lacking({ spec }, context) {
    const pods = new PodBlocks(context);
    for (const rule of spec?.ingress ?? []) ingressAt(rule, pods);
    for (const rule of spec?.egress ?? []) egressAt(rule, pods);
    if (pods.left === 0) return undefined;
    return `at ${context.siteName()} it lets in ${MOST_PODS} pods that run elsewhere, and ${pods.left} that it means besides are not let in`;
  },
};

/** Who is let in there; a rule whose peers are all out of reach is left out: without peers it would let everyone in. */
function ingressAt(rule: Ingress, pods: PodBlocks): Ingress[] {
  const { from = [] } = rule;
  if (from.length === 0) return [rule];
  const there = from.flatMap((peer) => [
    ...peersAt(peer, pods.context),
    ...pods.blocksOf(podsMeant(peer, pods.context)),
  ]);
  return there.length === 0 ? [] : [{ ...rule, from: there }];
}

/** A port's name is looked up in the pod that is reached, which an address does not lead to: there it has to be its number. */
function egressAt(rule: Egress, pods: PodBlocks): Egress[] {
  const { to = [], ports = [] } = rule;
  if (to.length === 0) return [rule];
  const { context } = pods;
  const there = to.flatMap((peer) => peersAt(peer, context));
  const byPorts = new Map<string, { ports: Egress["ports"]; pods: Pod[] }>();
  for (const pod of to.flatMap((peer) => podsMeant(peer, context))) {
    const found = portsAt(pod, ports);
    if (ports.length > 0 && found.length === 0) continue;
    const key = JSON.stringify(found);
    const group = byPorts.get(key) ?? { ports: found, pods: [] };
    byPorts.set(key, group);
    group.pods.push(pod);
  }
  const same = byPorts.get(JSON.stringify(ports));
  byPorts.delete(JSON.stringify(ports));
  const first = [...there, ...pods.blocksOf(same?.pods ?? [])];
  const others = [...byPorts.keys()].sort().flatMap((key) => {
    const group = byPorts.get(key);
    const blocks = pods.blocksOf(group?.pods ?? []);
    return blocks.length === 0 ? [] : [{ to: blocks, ports: group?.ports ?? [] }];
  });
  return [...(first.length === 0 ? [] : [{ ...rule, to: first }]), ...others, ...dnsRules(rule)];
}

function peersAt(peer: Peer, context: TwinContext): Peer[] {
  if (peer.ipBlock !== undefined)
    return context.translateBlock(peer.ipBlock).map(({ cidr, except }) => ({
      ipBlock: { cidr, ...(except && { except: [...except] }) },
    }));
  if (peer.namespaceSelector === undefined) return [peer];
  const names = namespacesOf(peer, context);
  if (names.length === 0) return [];
  const namespaceSelector = {
    matchLabels: { [CONSUMER_LABEL]: context.consumer },
    matchExpressions: [{ key: ORIGIN_NAMESPACE_LABEL, operator: "In", values: names }],
  };
  return [{ ...peer, namespaceSelector }];
}

/** Own namespaces with a twin there that a peer means. */
function namespacesOf({ ipBlock, namespaceSelector }: Peer, context: TwinContext): string[] {
  if (ipBlock !== undefined) return [];
  if (namespaceSelector === undefined) return [context.namespace];
  return context
    .namespaces()
    .filter(({ name, labels }) =>
      matchesSelector(namespaceSelector as LabelSelector, { [NAME_LABEL]: name, ...labels }),
    )
    .map(({ name }) => name)
    .sort();
}

/** Own pods elsewhere that a peer means, and that have an address of their own. */
function podsMeant(peer: Peer, context: TwinContext): Pod[] {
  return namespacesOf(peer, context)
    .flatMap((namespace) => context.podsElsewhere(namespace))
    .filter(({ metadata, spec, status }) => {
      if (spec?.hostNetwork === true || status?.phase === "Succeeded" || status?.phase === "Failed") return false;
      return matchesSelector((peer.podSelector ?? {}) as LabelSelector, metadata.labels ?? {});
    });
}

/** Pods as blocks of one address each, up to a number for all rules of a policy. */
class PodBlocks {
  readonly context: TwinContext;
  /** How many had no place. */
  left = 0;
  #taken = 0;

  constructor(context: TwinContext) {
    this.context = context;
  }

  /** In order: the same pods always give the same. */
  blocksOf(pods: readonly Pod[]): Peer[] {
    const addresses = pods.flatMap(({ spec, status }) =>
      (status?.podIPs?.map(({ ip }) => ip) ?? [status?.podIP]).flatMap(
        (address) => (address && this.context.translateAddress(address, spec?.nodeName)) || [],
      ),
    );
    const each = [...new Set(addresses)].sort();
    const taken = each.slice(0, Math.max(0, MOST_PODS - this.#taken));
    this.#taken += taken.length;
    this.left += each.length - taken.length;
    return taken.map((address) => ({ ipBlock: { cidr: `${address}/${address.includes(":") ? 128 : 32}` } }));
  }
}
