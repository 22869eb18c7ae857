import type { AddressPlan } from "@fjord/api";
import { calledByOther, meantThere } from "../translate.ts";
import { adviceFor, type BareHop, linkHop, permission, renamed, type Side } from "./gateway-hops.ts";
import type { Hop, PathEnd, SiteView } from "./path.ts";

/** One of two sites that the asked one has introduced to each other. */
interface Place {
  readonly name: string;
  readonly plan: AddressPlan | undefined;
  readonly end: PathEnd;
}

/**
 * The way of a packet between guests at two providers, as far as their consumer knows it, which has introduced them to each other; `there` is what one of
 * the two says itself.
 */
export function meetingPath(
  here: SiteView,
  there: SiteView | undefined,
  from: Place,
  to: Place,
): { readonly hops: readonly Hop[]; readonly advice: readonly string[] } {
  const hops: Hop[] = [];
  const advice: string[] = [];
  let packet = { source: from.end.address, destination: to.end.address };
  const pass = (hop: BareHop | undefined, ...ifDropped: string[]): boolean => {
    if (hop === undefined) return true;
    hops.push({ ...hop, ...packet });
    if (hop.verdict === "Dropped") advice.push(...ifDropped);
    return hop.verdict !== "Dropped";
  };
  const end = () => ({ hops, advice });
  const sends = { site: from.name, at: "pod", what: "sends", verdict: "Passes" } as const;
  const reals = { from: realOf(from), to: realOf(to) };
  const called = { from: calledAt(to, from), to: calledAt(from, to) };
  if (reals.from === undefined || reals.to === undefined || called.from === undefined || called.to === undefined) {
    pass(sends);
    pass({ at: "link", what: strangers(here, from, to), verdict: "Dropped" }, ...ADVICE);
    return end();
  }
  const side = (place: Place, other: Place, real: string, otherCalled: string): Side => {
    const view = there?.id === place.end.site ? there : undefined;
    const link = view?.links.find(({ spec }) => spec.site === other.end.site);
    return { site: place.name, ...(view && { view }), ...(link && { link }), end: place.end, real, otherCalled };
  };
  const sender = side(from, to, reals.from, called.to);
  const receiver = side(to, from, reals.to, called.from);
  packet = { source: sender.real, destination: sender.otherCalled };
  pass(sends);
  const [one, other] = [from.end.pod?.metadata.namespace, to.end.pod?.metadata.namespace];
  if (one !== undefined && other !== undefined && one !== other) {
    const what = `namespaces ${one} and ${other} are never in one group: guests meet within their namespace`;
    pass({ site: from.name, at: "gateway", what, verdict: "Dropped" });
    return end();
  }
  if (!pass(permission(sender, receiver), ...adviceFor(sender, receiver))) return end();
  packet = { ...packet, source: receiver.otherCalled };
  pass(renamed(sender.site, "source", sender.real, receiver.otherCalled, namesAt(to, from)));
  if (!pass(linkBetween(sender, receiver))) return end();
  packet = { ...packet, destination: receiver.real };
  pass(renamed(receiver.site, "destination", sender.otherCalled, receiver.real, namesAt(from, to)));
  if (!pass(permission(receiver, sender), ...adviceFor(receiver, sender))) return end();
  pass({ site: to.name, at: "pod", what: `receives, and answers ${packet.source}`, verdict: "Passes" });
  return end();
}

const ADVICE = [
  "offload a namespace to both, over peerings with `--link`; an owner who has `introductions: Refuse` in spec.network lets nobody in",
];

function linkBetween(sender: Side, receiver: Side): BareHop {
  const [link, view] = sender.link === undefined ? [receiver.link, receiver.view] : [sender.link, sender.view];
  if (link !== undefined) return linkHop(link, view);
  const what = `WireGuard between the two, introduced by this site, whose gateway leads them to each other where they cannot meet: how it is, only they know (--peer-context names one)`;
  return { at: "link", what, verdict: "Unknown" };
}

/** Why two sites have no names for each other. */
function strangers(here: SiteView, from: Place, to: Place): string {
  const pair = `${from.name} and ${to.name}`;
  if (from.plan === undefined || to.plan === undefined)
    return `pods at ${from.name} and at ${to.name} do not meet: ${here.name} has no link with ${(from.plan === undefined ? from : to).name}`;
  const isIntroduced = from.plan.spec.others?.some(({ site }) => site === to.end.site) === true;
  return isIntroduced
    ? `${pair} are introduced, and have not said yet what they call each other`
    : `pods at ${from.name} and at ${to.name} do not meet: the two are not introduced, as no namespace is offloaded to both, or an owner refuses`;
}

/** The address that an end has where it is. */
function realOf({ plan, end }: Place): string | undefined {
  return plan && meantThere(plan.spec, end.address);
}

/** What one site calls the end at the other. */
function calledAt({ plan }: Place, other: Place): string | undefined {
  return plan && calledByOther(plan.spec, other.end.site ?? "", other.plan?.spec, other.end.address);
}

function namesAt({ plan }: Place, other: Place): AddressPlan["spec"]["own"] {
  return plan?.spec.others?.find(({ site }) => site === other.end.site)?.names ?? [];
}
