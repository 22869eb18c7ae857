import type { AddressPlan } from "@fjord/api";
import type { LoopbackFacts } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import { calledRanges, plannedNames } from "../address-plan.ts";
import { contains, type IpRange, overlaps } from "../ip-range.ts";
import { chooseNames } from "../names.ts";
import { formatCidr, parseCidr, parseCidrs } from "../ranges.ts";

type PlanSpec = AddressPlan["spec"];

/** What a site whose pods are processes has on the loopback of its machine, by the word of its nodes. */
export interface LoopbackNetwork {
  /** That its pods have addresses of. */
  readonly pods: readonly IpRange[];
  /** Where stand-ins for pods of other sites get theirs from. */
  readonly standIns: readonly IpRange[];
}

const LOOPBACK = parseCidrs(["127.0.0.0/8"])[0] as IpRange;
/** Where a machine's own servers listen. */
const MACHINE = parseCidrs(["127.0.0.0/16"])[0] as IpRange;
/** The pods of one node; more would leave too few places for other peers. */
const WIDEST = 22;
const NARROWEST = 30;
/** Of one peer, with those that it leads to. */
const MOST_RANGES = 8;

/** Those of the texts that may be ranges of a peer's pods, as many as are taken; none that overlaps with another. */
export function loopbackRanges(texts: readonly string[]): IpRange[] {
  const taken: IpRange[] = [];
  for (const range of parseCidrs(texts.slice(0, MOST_RANGES)))
    if (isPodRange(range) && !taken.some((each) => overlaps(each, range))) taken.push(range);
  return taken;
}

/** What a peer says of the loopback ranges of the two; undefined where any of it is wrong. */
export function checkLoopbackFacts(value: unknown): LoopbackFacts | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { ranges, names } = value as Record<string, unknown>;
  if (!Array.isArray(ranges) || !Array.isArray(names) || ranges.length > 64 || names.length > 64) return undefined;
  const own = ranges.map(rangeOf);
  const called = names.map((each: unknown) => {
    const { range, called } = (typeof each === "object" && each !== null ? each : {}) as Record<string, unknown>;
    const [real, name] = [rangeOf(range), rangeOf(called)];
    if (real === undefined || name === undefined || real.length !== name.length) return undefined;
    return { range: formatCidr(real), called: formatCidr(name) };
  });
  if (own.includes(undefined) || called.includes(undefined)) return undefined;
  return {
    ranges: own.flatMap((range) => (range === undefined ? [] : [formatCidr(range)])),
    names: called.flatMap((name) => name ?? []),
  };
}

export interface ProxyPlanSources {
  readonly site: SiteId;
  readonly own: LoopbackNetwork;
  /** What the peer says; absent until it has. */
  readonly facts?: LoopbackFacts;
  /** What was planned before. */
  readonly before?: PlanSpec;
  readonly others: readonly PlanSpec[];
}

/** Who calls whom what, where both have their pods on the loopback of their machines. */
export function proxyPlan({ site, own, facts, before, others }: ProxyPlanSources): PlanSpec {
  const calledThere = facts?.names ?? before?.own ?? [];
  const theirs = loopbackRanges(facts?.ranges ?? before?.peer.map(({ range }) => range) ?? []);
  const names = chooseNames({
    ranges: theirs,
    before: (before?.peer ?? []).flatMap(({ range, called }) => {
      const [real, name] = [parseCidr(range), parseCidr(called ?? "")];
      const isInPool = name !== undefined && own.standIns.some((pool) => contains(pool, name));
      return real === undefined || !isInPool ? [] : [{ range: real, called: name }];
    }),
    taken: [...own.pods, ...others.flatMap(calledRanges)],
    pools: own.standIns,
    special: [MACHINE],
  });
  return {
    site,
    carrier: "Proxy",
    ...plannedNames([...own.pods, ...passedOn(others)], calledThere, names),
  };
}

/** What the peer is told of it. */
export function loopbackFactsOf({ own, peer }: PlanSpec): LoopbackFacts {
  return {
    ranges: own.map(({ range }) => range),
    names: peer.flatMap(({ range, called }) => (called === undefined ? [] : [{ range, called }])),
  };
}

/** The stand-ins of other peers' own pods: two of them meet through this site. Only the first range is surely the peer's own. */
function passedOn(others: readonly PlanSpec[]): IpRange[] {
  return others
    .toSorted((one, other) => (one.site < other.site ? -1 : 1))
    .flatMap(({ peer }) => parseCidr(peer[0]?.called ?? "") ?? [])
    .slice(0, MOST_RANGES - 1);
}

function rangeOf(value: unknown): IpRange | undefined {
  const range = typeof value === "string" && value.length <= 64 ? parseCidr(value) : undefined;
  return range !== undefined && isPodRange(range) ? range : undefined;
}

function isPodRange(range: IpRange): boolean {
  return range.length >= WIDEST && range.length <= NARROWEST && contains(LOOPBACK, range) && !overlaps(MACHINE, range);
}
