import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL } from "@fjord/api";
import { type LabelSelector, matchesSelector, NetworkPolicy } from "@fjord/kube";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;
type Peer = NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>[number];

/** The label that Kubernetes gives every namespace. */
const NAME_LABEL = "kubernetes.io/metadata.name";

/**
 * Policies for guests as for pods at home. Namespaces are chosen by their twins, and never another's: a selector that means all
 * namespaces here would mean the provider's own, and those of its other consumers.
 */
export const networkPolicies: ReflectedKind<NetworkPolicy> = {
  kind: NetworkPolicy,
  policy: "DenyList",
  follows: ["namespaces"],
  forge(policy, context) {
    const { podSelector, policyTypes, ingress, egress } = policy.spec ?? {};
    return {
      spec: {
        podSelector: podSelector ?? {},
        ...(policyTypes && { policyTypes }),
        ...(ingress && { ingress: ingress.flatMap((rule) => ruleAt(rule, "from", context)) }),
        ...(egress && { egress: egress.flatMap((rule) => ruleAt(rule, "to", context)) }),
      },
    };
  },
  seen: ({ spec }): Body => ({ spec: { ...spec } }),
};

/** A rule whose peers are all elsewhere is left out: without peers it would let everyone in. */
function ruleAt<Rule extends object, Side extends keyof Rule>(rule: Rule, side: Side, context: TwinContext): Rule[] {
  const peers = (rule[side] ?? []) as readonly Peer[];
  if (peers.length === 0) return [rule];
  const there = peers.flatMap((peer) => peerAt(peer, context) ?? []);
  return there.length === 0 ? [] : [{ ...rule, [side]: there }];
}

function peerAt(peer: Peer, context: TwinContext): Peer | undefined {
  if (peer.namespaceSelector === undefined) return peer;
  const names = context
    .namespaces()
    .filter(({ name, labels }) =>
      matchesSelector(peer.namespaceSelector as LabelSelector, { [NAME_LABEL]: name, ...labels }),
    )
    .map(({ name }) => name)
    .sort();
  if (names.length === 0) return undefined;
  const namespaceSelector = {
    matchLabels: { [CONSUMER_LABEL]: context.consumer },
    matchExpressions: [{ key: ORIGIN_NAMESPACE_LABEL, operator: "In", values: names }],
  };
  return { ...peer, namespaceSelector };
}
