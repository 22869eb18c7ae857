import { type PolicyAnswer, policyAnswer } from "@fjord/continuum/network-path";
import type { NetworkPolicy, Pod } from "@fjord/kube";

/** What is known of the NetworkPolicies of a namespace: its own ones, which mean the same pods at every site. */
export interface PolicyFacts {
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly policies: readonly NetworkPolicy[];
}

/** NetworkPolicies that have a say in a try. */
export interface Policed {
  /** Whether they drop it, where the pods' network enforces them. */
  readonly isDropped: boolean;
  readonly rules: readonly string[];
}

/** An end of a try: where somebody listens there may be no pod that is known. */
interface End {
  readonly address: string;
  readonly port: number;
  readonly pod?: Pod | undefined;
}

/** What the policies of both pods say of one asking the other; undefined where none is about it. */
export function policed(facts: PolicyFacts, asker: Pod, { address, port, pod }: End): Policed | undefined {
  const { namespace, labels, policies } = facts;
  const namespaces = new Map([[namespace, { "kubernetes.io/metadata.name": namespace, ...labels }]]);
  const common = { policies, namespaces, port: { protocol: "TCP", port } } as const;
  const out = policyAnswer({
    ...common,
    direction: "Egress",
    pod: asker,
    other: { address, ...(pod && { pod }) },
  });
  // By the family that the target has.
  const source = addressLike(address, asker);
  const into = pod && policyAnswer({ ...common, direction: "Ingress", pod, other: { address: source, pod: asker } });
  return together([out, into]);
}

/** What is known of where a pod may ask for names: that may be anybody, by port 53. */
export function policedNames({ namespace, policies }: PolicyFacts, asker: Pod): Policed | undefined {
  const about = policies.filter((each) => answerTo(asker, [each]) !== undefined);
  if (about.length === 0) return undefined;
  const { verdict } = answerTo(asker, about.map(toAnybody)) ?? {};
  const rules = about.map(({ metadata }) => `NetworkPolicy ${namespace}/${metadata.name}`);
  return { isDropped: verdict === "Dropped", rules };
}

function answerTo(pod: Pod, policies: readonly NetworkPolicy[]): PolicyAnswer | undefined {
  const port = { protocol: "UDP", port: 53 } as const;
  return policyAnswer({ direction: "Egress", pod, policies, port, other: { address: "" }, namespaces: new Map() });
}

function toAnybody(policy: NetworkPolicy): NetworkPolicy {
  const egress = policy.spec?.egress?.map(({ ports }) => ({ ...(ports && { ports }) }));
  return { ...policy, spec: { ...policy.spec, ...(egress && { egress }) } as NetworkPolicy["spec"] };
}

/** Of all that may be led to: it may be any. */
export function anyPoliced(all: readonly (Policed | undefined)[]): Policed | undefined {
  const found = all.filter((each) => each !== undefined);
  if (found.length === 0) return undefined;
  const rules = [...new Set(found.flatMap((each) => each.rules))];
  return { isDropped: found.some(({ isDropped }) => isDropped), rules };
}

function together(answers: readonly (PolicyAnswer | undefined)[]): Policed | undefined {
  return anyPoliced(
    answers.map(
      (answer) =>
        answer && { isDropped: answer.verdict === "Dropped", rules: answer.rule === undefined ? [] : [answer.rule] },
    ),
  );
}

function addressLike(address: string, { status }: Pod): string {
  const own = status?.podIPs?.map(({ ip }) => ip) ?? [];
  return own.find((each) => each.includes(":") === address.includes(":")) ?? status?.podIP ?? "";
}
