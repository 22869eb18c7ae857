import type { AddressPlan } from "@fjord/api";
import type { CalledRange } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { calledRanges } from "./address-plan.ts";
import { type IpRange, overlaps } from "./ip-range.ts";
import { EXPORT_RANGES } from "./link-address.ts";
import type { Naming } from "./network-state.ts";
import { parseCidr, parseCidrs } from "./ranges.ts";

type PlanSpec = AddressPlan["spec"];

/** What a consumer calls ranges of its other providers, and what these are called here. */
export function elsewhereNames(
  calls: readonly CalledRange[],
  planOf: (site: SiteId) => PlanSpec | undefined,
): { readonly range?: string; readonly called: string }[] {
  return calls.flatMap(({ site, range, called }) => {
    const here = planOf(site)?.peer.find((each) => each.range === range)?.called;
    return here === undefined ? [] : [{ range: here, called }];
  });
}

/**
 * What a consumer calls otherwise than this site, of what its guests here may reach: this site's pods, its own, and those `elsewhere`. A word that means something here, be it a
 * range that is taken or what the guests reach by it, is left to that.
 */
export function homeNames(
  plan: PlanSpec,
  taken: readonly IpRange[],
  elsewhere: ReturnType<typeof elsewhereNames> = [],
): Naming[] {
  const { own, peer } = plan;
  const words = [
    ...own.map(({ range, called }) => ({ range, called })),
    ...peer.map(({ range, called }) => ({ range: called, called: range })),
    ...elsewhere,
  ];
  // What stands for exports is led by gateways, and only over links.
  const exported = Object.values(EXPORT_RANGES);
  const reached = parseCidrs(elsewhere.flatMap(({ range }) => range ?? []));
  const meant = [...taken, ...calledRanges(plan), ...reached, ...exported];
  const found = new Map<string, Naming>();
  for (const { range, called } of words) {
    const [place, word] = [parseCidr(range ?? ""), parseCidr(called ?? "")];
    if (range === undefined || called === undefined || place === undefined || word === undefined) continue;
    if (range === called || found.has(range) || meant.some((each) => overlaps(each, word))) continue;
    if (!exported.some((each) => overlaps(each, place))) found.set(range, { range, called });
  }
  return [...found.values()];
}
