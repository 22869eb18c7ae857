import { type LabelSelector, matchesSelector, type NetworkPolicy, type Pod } from "@fjord/kube";
import { contains } from "../ip-range.ts";
import { parseAddress, parseCidr } from "../ranges.ts";
import type { HopVerdict } from "./path.ts";

export type PolicyDirection = "Ingress" | "Egress";

type Spec = NonNullable<NetworkPolicy["spec"]>;
type Rule = { from?: Peer[]; to?: Peer[]; ports?: Port[] };
type Peer = NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>[number];
type Port = NonNullable<NonNullable<Spec["ingress"]>[number]["ports"]>[number];

export interface PolicyQuestion {
  readonly direction: PolicyDirection;
  /** Whose policies are asked. */
  readonly pod: Pod;
  /** Whom it talks with, as the site of the pod calls it. */
  readonly other: { readonly address: string; readonly pod?: Pod };
  readonly policies: readonly NetworkPolicy[];
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Where it goes to, where that matters. @default any */
  readonly port?: PolicyPort;
}

export interface PolicyPort {
  readonly protocol: "TCP" | "UDP";
  readonly port: number;
}

export interface PolicyAnswer {
  readonly verdict: HopVerdict;
  readonly what: string;
  readonly rule?: string;
}

/** What the NetworkPolicies of a pod say of one packet; undefined where none is about it. Whether anybody enforces them is the pods' network's to say. */
export function policyAnswer({
  direction,
  pod,
  other,
  policies,
  namespaces,
  port,
}: PolicyQuestion): PolicyAnswer | undefined {
  const about = policies.filter((policy) => selects(policy, pod) && concerns(policy, direction));
  if (about.length === 0) return undefined;
  for (const policy of about)
    for (const rule of rulesOf(policy, direction)) {
      const peers = (direction === "Ingress" ? rule.from : rule.to) ?? [];
      if (peers.length > 0 && !peers.some((peer) => matches(peer, policy, other, namespaces))) continue;
      // Names of ports are those of whoever is gone to.
      const server = direction === "Ingress" ? pod : other.pod;
      const isOpen = (rule.ports ?? []).length === 0 || (rule.ports ?? []).some((each) => opens(each, port, server));
      if (port !== undefined && !isOpen) continue;
      const ports = (rule.ports ?? []).map(portText);
      const which = ports.length === 0 ? "" : `, on ${ports.join(", ")} alone`;
      return { verdict: "Passes", what: `let ${inOrOut(direction)} by a policy${which}`, rule: titleOf(policy) };
    }
  return {
    verdict: "Dropped",
    what: `no rule of the policies that are about ${direction === "Ingress" ? "who may reach it" : "whom it may reach"} has ${other.address}`,
    rule: about.map(titleOf).join(", "),
  };
}

/** Whether a policy has a say in that direction. */
export function concerns(policy: NetworkPolicy, direction: PolicyDirection): boolean {
  return typesOf(policy).includes(direction);
}

function selects({ metadata, spec }: NetworkPolicy, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false;
  return matchesSelector((spec?.podSelector ?? {}) as LabelSelector, pod.metadata.labels ?? {});
}

/** As the API has it where nobody says: always Ingress, and Egress where there are rules of it. */
function typesOf({ spec }: NetworkPolicy): readonly string[] {
  return spec?.policyTypes ?? (spec?.egress === undefined ? ["Ingress"] : ["Ingress", "Egress"]);
}

function rulesOf({ spec }: NetworkPolicy, direction: PolicyDirection): readonly Rule[] {
  return ((direction === "Ingress" ? spec?.ingress : spec?.egress) ?? []) as readonly Rule[];
}

function matches(
  peer: Peer,
  { metadata }: NetworkPolicy,
  { address, pod }: PolicyQuestion["other"],
  namespaces: PolicyQuestion["namespaces"],
): boolean {
  const { ipBlock, podSelector, namespaceSelector } = peer;
  if (ipBlock !== undefined) {
    const found = parseAddress(address);
    const within = (text: string) => {
      const range = parseCidr(text);
      return found !== undefined && range !== undefined && contains(range, found);
    };
    return within(ipBlock.cidr) && !(ipBlock.except ?? []).some(within);
  }
  if (pod === undefined) return false;
  const { namespace = "", labels = {} } = pod.metadata;
  if (namespaceSelector === undefined ? namespace !== metadata.namespace : false) return false;
  if (
    namespaceSelector !== undefined &&
    !matchesSelector(namespaceSelector as LabelSelector, namespaces.get(namespace) ?? {})
  )
    return false;
  return podSelector === undefined || matchesSelector(podSelector as LabelSelector, labels);
}

function opens(
  { protocol = "TCP", port, endPort }: Port,
  wanted: PolicyPort | undefined,
  server: Pod | undefined,
): boolean {
  if (wanted === undefined || protocol !== wanted.protocol) return false;
  if (port === undefined) return true;
  const first = typeof port === "number" ? port : portNamed(port, protocol, server);
  return first !== undefined && wanted.port >= first && wanted.port <= (endPort ?? first);
}

function portNamed(name: string, protocol: string, server: Pod | undefined): number | undefined {
  const containers = [...(server?.spec?.containers ?? []), ...(server?.spec?.initContainers ?? [])];
  const ports = containers.flatMap(({ ports }) => ports ?? []);
  return ports.find((each) => each.name === name && (each.protocol ?? "TCP") === protocol)?.containerPort;
}

function portText({ protocol = "TCP", port, endPort }: Port): string {
  if (port === undefined) return `any port of ${protocol}`;
  return `${protocol} ${port}${endPort === undefined ? "" : `-${endPort}`}`;
}

function inOrOut(direction: PolicyDirection): string {
  return direction === "Ingress" ? "in" : "out";
}

function titleOf({ metadata }: NetworkPolicy): string {
  return `NetworkPolicy ${metadata.namespace}/${metadata.name}`;
}
