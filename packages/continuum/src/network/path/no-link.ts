import { contains, parseRange } from "../ip-range.ts";
import type { BareHop } from "./gateway-hops.ts";
import type { PathEnd, SiteView } from "./path.ts";

/**
 * The hop between two sites that have no link: what else joins their networks is in no object, so nothing is claimed of it,
 * but for an address that is taken here.
 */
export function hopWithoutLink(
  here: SiteView,
  from: PathEnd,
  to: PathEnd,
  names: { from: string; to: string },
): BareHop {
  const hop = { at: "network" } as const;
  const without = `${names.from} and ${names.to} have no link`;
  const other = [from, to].find(({ site }) => site !== here.id);
  const taken = isHere(here, from, to)
    ? other && here.ranges.find((range) => isWithin(range, other.address))
    : undefined;
  if (taken !== undefined)
    return {
      ...hop,
      site: here.name,
      what: `${without}, and ${other?.address} is one of this site's own addresses (${taken}): a packet to it stays here`,
      verdict: "Dropped",
    };
  const how =
    isLoopback(from.address) && isLoopback(to.address)
      ? "it arrives where both sites run on one machine"
      : "it arrives where their networks are joined by something else, such as routes of a provider";
  return { ...hop, what: `${without}: ${how}`, verdict: "Unknown" };
}

export const LINK_ADVICE =
  "a link joins them: `fjord peer SITE --link` at the consumer, with spec.network in both Sites; without one, try it from the pod itself (`kubectl exec`)";

function isHere({ id }: SiteView, from: PathEnd, to: PathEnd): boolean {
  return from.site === id || to.site === id;
}

function isLoopback(address: string): boolean {
  return isWithin("127.0.0.0/8", address) || isWithin("::1/128", address);
}

function isWithin(range: string, address: string): boolean {
  const [outer, inner] = [parseRange(range), parseRange(address)];
  return outer !== undefined && inner !== undefined && contains(outer, inner);
}
