import type { AddressPlan } from "@fjord/api";
import type { SiteId } from "../site-identity.ts";
import { contains, formatRange } from "./ip-range.ts";
import { move, parseAddress, parseCidr } from "./ranges.ts";

type PlanSpec = AddressPlan["spec"];

/** What an own address is called at the peer; undefined where it has no name there. */
export function calledThere(plan: PlanSpec, address: string): string | undefined {
  return translate(plan.own, address, "range", "called");
}

/** What an address of the peer's is called here; undefined where it has no name here. */
export function calledHere(plan: PlanSpec, address: string): string | undefined {
  return translate(plan.peer, address, "range", "called");
}

/** The peer's address that is called so here. */
export function meantThere(plan: PlanSpec, address: string): string | undefined {
  return translate(plan.peer, address, "called", "range");
}

/**
 * What a peer calls an address of another peer, which both are introduced to each other: `address` is what it is called here. Undefined where it has no
 * name there.
 */
export function calledByOther(
  plan: PlanSpec,
  other: SiteId,
  otherPlan: PlanSpec | undefined,
  address: string,
): string | undefined {
  const names = plan.others?.find(({ site }) => site === other)?.names;
  const real = otherPlan && meantThere(otherPlan, address);
  return names === undefined || real === undefined ? undefined : translate(names, real, "range", "called");
}

function translate(
  namings: PlanSpec["own"],
  text: string,
  from: "range" | "called",
  to: "range" | "called",
): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  for (const naming of namings) {
    const [source, target] = [parseCidr(naming[from] ?? ""), parseCidr(naming[to] ?? "")];
    if (source === undefined || target === undefined || source.length !== target.length) continue;
    if (contains(source, address)) return formatRange(move(address, source, target));
  }
  return undefined;
}
