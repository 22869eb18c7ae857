import type { AddressPlan } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { planReason } from "../address-plan.ts";
import { calledThere, meantThere } from "../translate.ts";
import { type BareHop, PEER_CONTEXT } from "./gateway-hops.ts";
import type { Hop, PathEnd, SiteView } from "./path.ts";
import { type PolicyDirection, policyAnswer } from "./policy-hop.ts";

/** What the sites of the two ends are called here. */
interface SiteNames {
  readonly from: string;
  readonly to: string;
  /** The one whose API was asked too. */
  readonly asked?: string | undefined;
}

interface ProxyPath {
  readonly hops: readonly Hop[];
  readonly advice: readonly string[];
}

/** What the two ends are called at a site. */
interface Packet {
  readonly source: string;
  readonly destination: string;
}

const CONNECTS = "connects, by TCP or UDP: nothing else is carried";
const POLICY_ADVICE = "let a NetworkPolicy of its namespace allow it";

/** The way of a connection that the agents carry, between pods that are processes of their machines. */
export function proxyPath(here: SiteView, plan: AddressPlan, from: PathEnd, to: PathEnd, names: SiteNames): ProxyPath {
  const { metadata, spec, status } = plan;
  const isOutward = from.site === here.id;
  const [atHere, atPeer] = [{ source: from.address, destination: to.address }, packetAt(plan, isOutward, from, to)];
  const walk = new Walk(isOutward ? atHere : (atPeer ?? atHere));
  walk.pass({ site: names.from, at: "pod", what: CONNECTS, verdict: "Passes" });
  if (!walk.pass(policyHop(here, "Egress", from, to, names), POLICY_ADVICE)) return walk;
  if (!walk.pass(sameNamespace(from, to, names.from), "place both in one namespace")) return walk;
  const rule = `AddressPlan ${metadata.name}`;
  if (atPeer === undefined) {
    const what = `nobody stands in for it: the two do not know each other's names (${planReason(spec)})`;
    const hop: BareHop = { site: names.from, at: "agent", what, rule, verdict: "Dropped" };
    walk.pass(hop, "`fjord network status` says what is missing");
    return walk;
  }
  const meant = isOutward ? atPeer.destination : to.address;
  // Whether this one is among them is known to the agent alone.
  const someHaveNone = isOutward && getCondition(status?.conditions, "StandInsComplete")?.status === "False";
  walk.pass({
    site: names.from,
    at: "agent",
    what: someHaveNone
      ? `stands in for some endpoints of ${names.to} only, as there are too many: maybe not for ${meant}`
      : `stands in for ${meant} of ${names.to}, at ports that Services of shared namespaces lead to`,
    rule,
    verdict: someHaveNone ? "Unknown" : "Passes",
  });
  if (someHaveNone)
    walk.advise(
      `let fewer endpoints of ${names.to} be in shared namespaces: fjord_carried_without_stand_in counts them`,
    );
  const peer = isOutward ? to : from;
  if (!walk.pass(linkHop(here.reachable?.(peer.site ?? "")), "`fjord sites` tells since when, and why")) return walk;
  walk.packet = isOutward ? atPeer : atHere;
  if (to.pod?.spec?.hostNetwork === true) {
    const what = `${to.title} is on the network of its node, and has no address of its own`;
    walk.pass(
      { site: names.to, at: "agent", what, verdict: "Dropped" },
      "give the pod an address of its own (hostNetwork: false)",
    );
    return walk;
  }
  // What this site's API has at the peer was offloaded there; and so was the namespace of whoever asks from there.
  const namespace = to.pod?.metadata.namespace;
  const isShared = namespace !== undefined && (isOutward || from.pod?.metadata.namespace === namespace);
  walk.pass({
    site: names.to,
    at: "agent",
    what: isShared
      ? `leads there: namespace ${namespace} is shared by the two`
      : `leads there where its namespace is shared by the two, and policies of both let it: ${knownAt(isOutward ? names.to : names.from, names.asked)}`,
    verdict: isShared ? "Passes" : "Unknown",
  });
  if (!walk.pass(policyHop(here, "Ingress", to, from, names), POLICY_ADVICE)) return walk;
  const what = `takes the connection, which comes from ${walk.packet.source}, the client's name there`;
  walk.pass({ site: names.to, at: "pod", what, verdict: "Passes" });
  return walk;
}

/** Between pods at two peers, which meet through this site's own stand-ins. */
export function proxyPathThrough(
  here: SiteView,
  plans: { readonly from: AddressPlan; readonly to: AddressPlan },
  from: PathEnd,
  to: PathEnd,
  names: SiteNames,
): ProxyPath {
  const walk = new Walk(packetAt(plans.from, false, from, to) ?? { source: from.address, destination: to.address });
  walk.pass({ site: names.from, at: "pod", what: CONNECTS, verdict: "Passes" });
  walk.pass({
    site: names.from,
    at: "agent",
    what: `stands in for what ${here.name} calls ${to.address}, a pod of ${names.to}`,
    rule: `AddressPlan ${plans.from.metadata.name}`,
    verdict: "Passes",
  });
  if (here.reachable?.(from.site ?? "") === false) {
    const what = `${names.from} does not answer: nothing is led from there until it does`;
    walk.pass({ at: "link", what, verdict: "Dropped" }, "`fjord sites` tells why");
    return walk;
  }
  walk.packet = { source: from.address, destination: to.address };
  const namespace = to.pod?.metadata.namespace;
  const isShared = namespace !== undefined && from.pod?.metadata.namespace === namespace;
  walk.pass({
    site: here.name,
    at: "agent",
    what: isShared
      ? `leads there: namespace ${namespace} is shared with both`
      : "leads there where its namespace is shared with both",
    verdict: isShared ? "Passes" : "Unknown",
  });
  const onwards = proxyPath(here, plans.to, { ...from, site: here.id }, to, { ...names, from: here.name });
  return { hops: [...walk.hops, ...onwards.hops.slice(1)], advice: [...walk.advice, ...onwards.advice] };
}

class Walk implements ProxyPath {
  readonly hops: Hop[] = [];
  readonly advice: string[] = [];
  packet: Packet;

  constructor(packet: Packet) {
    this.packet = packet;
  }

  /** False where it ends there. */
  pass(hop: BareHop | undefined, ...ifDropped: readonly string[]): boolean {
    if (hop === undefined) return true;
    this.hops.push({ ...hop, ...this.packet });
    if (hop.verdict === "Dropped") this.advise(...ifDropped);
    return hop.verdict !== "Dropped";
  }

  advise(...words: readonly string[]): void {
    this.advice.push(...words);
  }
}

/** As the peer of the plan sees it; undefined where nobody stands in for the one that is asked. A client without a name there is shown as here. */
function packetAt({ spec }: AddressPlan, isOutward: boolean, from: PathEnd, to: PathEnd): Packet | undefined {
  const destination = isOutward ? meantThere(spec, to.address) : calledThere(spec, to.address);
  const source = isOutward ? calledThere(spec, from.address) : meantThere(spec, from.address);
  return destination === undefined ? undefined : { source: source ?? from.address, destination };
}

function linkHop(isThere: boolean | undefined): BareHop {
  if (isThere === false)
    return {
      at: "link",
      what: "the peer does not answer: nobody stands in for its pods until it does",
      verdict: "Dropped",
    };
  const what = "one TLS connection between the agents, by the keys of both sites";
  return { at: "link", what, verdict: isThere === undefined ? "Unknown" : "Passes" };
}

/** As over links: pods of one namespace meet, and no others. */
function sameNamespace(from: PathEnd, to: PathEnd, site: string): BareHop | undefined {
  const [one, other] = [from.pod?.metadata.namespace, to.pod?.metadata.namespace];
  if (one === undefined || other === undefined || one === other) return undefined;
  const what = `${from.title} is of namespace ${one}, and ${to.title} of ${other}: agents lead only between pods of one`;
  return { site, at: "agent", what, verdict: "Dropped" };
}

/** What the policies of the end that this site's API has say; the agents enforce them. */
function policyHop(
  view: SiteView,
  direction: PolicyDirection,
  { pod }: PathEnd,
  other: PathEnd,
  names: SiteNames,
): BareHop | undefined {
  const { policies, namespaces } = view;
  const [site, otherSite] = direction === "Ingress" ? [names.to, names.from] : [names.from, names.to];
  if (pod === undefined) return undefined;
  const whom = { address: other.address, ...(other.pod && { pod: other.pod }) };
  const answer = policyAnswer({ direction, pod, other: whom, policies, namespaces });
  if (answer === undefined) return undefined;
  // An end that this API does not have is told by the other agent, with its labels.
  if (answer.verdict !== "Dropped" || other.pod !== undefined) return { site, at: "policy", ...answer };
  const rule = answer.rule === undefined ? {} : { rule: answer.rule };
  const what = `whether a policy lets ${inOrOut(direction)} depends on the labels of ${other.title}: ${knownAt(otherSite, names.asked)}`;
  return { site, at: "policy", what, ...rule, verdict: "Unknown" };
}

/** Where that is known which this site's API does not have. */
export function knownAt(site: string, asked: string | undefined): string {
  return site === asked ? `${site} has no such pod` : `only the API of ${site} knows; ${PEER_CONTEXT}`;
}

function inOrOut(direction: PolicyDirection): string {
  return direction === "Ingress" ? "it in" : "it out";
}
