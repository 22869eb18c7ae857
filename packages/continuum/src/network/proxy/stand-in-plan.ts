import type { AddressPlan } from "@fjord/api";
import type { EndpointSlice } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { calledRanges } from "../address-plan.ts";
import { fairShares } from "../fair-shares.ts";
import { meantThere } from "../translate.ts";
import { endpointsWithin, type SharedEndpoint, stillServed } from "./shared-endpoints.ts";

/** What an address and port of this machine stands for. */
export interface StandIn extends SharedEndpoint {
  readonly site: SiteId;
  /** What the peer itself calls it. */
  readonly meant: string;
}

/** More endpoints of one peer than this machine should listen for: at a provider the consumer says how many there are. */
export const MOST_STAND_INS = 1024;

export interface PlannedStandIns {
  readonly standIns: readonly StandIn[];
  /** Endpoints that have none, because there are too many: at least so many, by namespace. */
  readonly missing: ReadonlyMap<string, number>;
}

type Plan = AddressPlan["spec"];

/** The stand-ins for a peer's endpoints. Where there are too many, each namespace has its share, and leaves to others what it does not need. */
export function plannedStandIns(
  plan: Plan,
  slices: Iterable<EndpointSlice>,
  namespaces: ReadonlySet<string>,
  most = MOST_STAND_INS,
): PlannedStandIns {
  if (plan.carrier !== "Proxy") return { standIns: [], missing: new Map() };
  const found = endpointsWithin(slices, namespaces, calledRanges(plan), most);
  const shares = fairShares(new Map([...found].map(([name, { endpoints }]) => [name, endpoints.length])), most);
  const missing = new Map<string, number>();
  const standIns: StandIn[] = [];
  for (const [namespace, { endpoints, isCut }] of found) {
    const share = shares.get(namespace) ?? 0;
    for (const each of endpoints.slice(0, share)) {
      const meant = meantThere(plan, each.address);
      if (meant !== undefined) standIns.push({ ...each, site: plan.site, meant });
    }
    const without = endpoints.length - share + (isCut ? 1 : 0);
    if (without > 0) missing.set(namespace, without);
  }
  return { standIns, missing };
}

/** Those that are as shared with the peer as they were, whether anybody listens for them or not. */
export function stillShared(
  standIns: readonly StandIn[],
  plan: Plan | undefined,
  slices: Iterable<EndpointSlice>,
  namespaces: ReadonlySet<string>,
): ReadonlySet<StandIn> {
  if (plan?.carrier !== "Proxy") return new Set();
  const named = standIns.filter(({ address, meant }) => meantThere(plan, address) === meant);
  return stillServed(named, slices, namespaces);
}
