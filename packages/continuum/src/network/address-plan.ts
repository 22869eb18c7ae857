import type { AddressPlan, ConditionOf } from "@fjord/api";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import type { IpRange } from "./ip-range.ts";
import { chooseNames, type NamedRange } from "./names.ts";
import type { OwnNetwork } from "./own-network.ts";
import { formatCidr, parseCidr, parseCidrs } from "./ranges.ts";

type PlanSpec = AddressPlan["spec"];
export type PlanReason = Exclude<Extract<ConditionOf<typeof AddressPlan>, { type: "Ready" }>["reason"], "KeyTaken">;

export interface PlanSources {
  readonly site: SiteId;
  readonly own: OwnNetwork;
  /** What the peer says; absent until it has. */
  readonly facts?: NetworkFacts;
  /** What was planned before. */
  readonly before?: PlanSpec;
  /** What other peers' ranges are called here. */
  readonly others: readonly IpRange[];
  /** What consumers call what their guests here reach. @default nothing */
  readonly words?: readonly IpRange[];
  /** Whom the plan is for, and who is to be told of whom. */
  readonly meetings?: Pick<PlanSpec, "introducedBy" | "scope" | "others">;
}

/** The own ranges by what the peer calls them, and the peer's by what they are called here, as a plan has them. */
export function plannedNames(
  own: readonly IpRange[],
  calledThere: readonly PlanSpec["own"][number][],
  names: readonly NamedRange[],
): Pick<PlanSpec, "own" | "peer"> {
  return {
    own: own.map((each) => {
      const range = formatCidr(each);
      const called = calledThere.find((name) => name.range === range)?.called;
      return { range, ...(called !== undefined && { called }) };
    }),
    peer: names.map(({ range, called }) => ({
      range: formatCidr(range),
      ...(called && { called: formatCidr(called) }),
    })),
  };
}

/** Who calls whom what, by what both have said last. What a peer that is silent has said before still holds. */
export function addressPlan({ site, own, facts, before, others, words = [], meetings }: PlanSources): PlanSpec {
  const calledThere = facts?.names ?? before?.own ?? [];
  const ranges = parseCidrs(facts?.ranges ?? before?.peer.map(({ range }) => range) ?? []);
  const names = chooseNames({
    ranges,
    before: (before?.peer ?? []).flatMap(parseNamed),
    taken: [...own.taken, ...others],
    // Guests may use the words of either side: these had better not mean two things.
    unwelcome: [...parseCidrs(calledThere.flatMap(({ called }) => called ?? [])), ...words],
    pools: own.pools,
    fromPools: meetings?.scope === "Guests",
  });
  return {
    site,
    ...plannedNames(own.ranges, calledThere, names),
    ...meetings,
  };
}

/** How far the two are, for the Ready condition. */
export function planReason({ own, peer }: PlanSpec): PlanReason {
  if (own.length === 0) return "RangesUnknown";
  if (peer.length === 0) return "AwaitingPeer";
  if (peer.some(({ called }) => called === undefined)) return "PoolExhausted";
  return own.some(({ called }) => called === undefined) ? "AwaitingPeer" : "NamesKnown";
}

/** Whether packets can pass by it: while a range is new to one of the two, those that have names go on. */
export function isUsable({ own, peer }: PlanSpec): boolean {
  return [own, peer].every((namings) => namings.some(({ called }) => called !== undefined));
}

/** What a plan says that the peer is told. */
export function factsOf(
  plan: PlanSpec,
  {
    publicKey,
    nextKey,
    keyProof,
    endpoints,
    lanes = [],
    relay,
    fallback,
    leadsTo = [],
    sights = [],
    tcp,
    exports = [],
    meets,
    introduces = [],
    calls = [],
  }: Omit<NetworkFacts, "ranges" | "names">,
): NetworkFacts | undefined {
  if (plan.own.length === 0) return undefined;
  return {
    ...(relay && { relay }),
    ...(fallback && { fallback }),
    ...(leadsTo.length > 0 && { leadsTo }),
    ...(sights.length > 0 && { sights }),
    ...(tcp && { tcp }),
    ...(exports.length > 0 && { exports }),
    ...(meets && { meets }),
    ...(introduces.length > 0 && { introduces }),
    ...(calls.length > 0 && { calls }),
    publicKey,
    ...(nextKey !== undefined && { nextKey }),
    ...(keyProof !== undefined && { keyProof }),
    endpoints,
    ...(lanes.length > 0 && { lanes }),
    ranges: plan.own.map(({ range }) => range),
    names: plan.peer.flatMap(({ range, called }) => (called === undefined ? [] : [{ range, called }])),
  };
}

/** A plan's ranges as they were read: for each that is kept, all others are asked for theirs. */
const read = { called: new WeakMap<PlanSpec["peer"], IpRange[]>(), range: new WeakMap<PlanSpec["peer"], IpRange[]>() };

/** What a plan's peer is called here. */
export function calledRanges(plan: Pick<PlanSpec, "peer">): readonly IpRange[] {
  return rangesOf(plan, "called");
}

/** A plan's peer's ranges as they are. */
export function realRanges(plan: Pick<PlanSpec, "peer">): readonly IpRange[] {
  return rangesOf(plan, "range");
}

function rangesOf({ peer }: Pick<PlanSpec, "peer">, field: "called" | "range"): readonly IpRange[] {
  const known = read[field].get(peer);
  if (known !== undefined) return known;
  const ranges = parseCidrs(peer.flatMap((naming) => naming[field] ?? []));
  read[field].set(peer, ranges);
  return ranges;
}

function parseNamed({ range, called }: PlanSpec["peer"][number]): NamedRange[] {
  const [real, name] = [parseCidr(range), parseCidr(called ?? "")];
  return real === undefined ? [] : [{ range: real, ...(name && { called: name }) }];
}
