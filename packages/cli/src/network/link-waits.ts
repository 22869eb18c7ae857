import type { AddressPlan, Peering, Site } from "@fjord/api";
import { idOf } from "../place/known-places.ts";

/** What is known of a site's links. */
export interface LinkFacts {
  readonly sites: readonly Site[];
  readonly plans: readonly AddressPlan[];
  /** Of own pods, as far as they are known. */
  readonly ranges: readonly string[];
}

/** That the own Site says nothing of its network, and what has it say; undefined where it does. */
export function withoutNetwork(sites: readonly Site[]): string | undefined {
  const own = sites.find(({ status }) => status?.role === "Self");
  if (own === undefined || own.spec.network !== undefined) return undefined;
  const patch = `kubectl patch site ${own.metadata.name} --type=merge --patch='{"spec":{"network":{}}}'`;
  return `Site ${own.metadata.name} has no spec.network, without which a site has no links (docs/network.md): \`${patch}\` gives it one`;
}

/** What a link that is asked for waits for: what an owner has to do first; undefined where nothing is known to be in its way. */
export function linkWaits(peer: string, { sites, plans, ranges }: LinkFacts): string | undefined {
  const site = sites.find(({ metadata }) => metadata.name === peer);
  const plan = plans.find(({ spec }) => spec.site === (site && idOf(site)));
  if (plan?.spec.carrier === "Proxy" || ranges.some(isLoopback)) return undefined;
  const missing = withoutNetwork(sites);
  if (missing !== undefined) return missing;
  if (plan !== undefined && plan.spec.peer.length > 0) return undefined;
  return `${peer} has not told its ranges yet, which it does as soon as it has spec.network in its own Site there (docs/network.md): \`fjord network status\` says how far it is`;
}

/** Why there is no Link with a site. */
export function whyNoLink(
  site: Site,
  { sites, plans, peerings }: Omit<LinkFacts, "ranges"> & { readonly peerings: readonly Peering[] },
): string {
  const { name = "" } = site.metadata;
  const plan = plans.find(({ spec }) => spec.site === idOf(site));
  if (plan?.spec.carrier === "Proxy") return "their agents carry connections, and no packets";
  const isAsked = plan !== undefined || peerings.some(({ spec }) => spec.site === name && spec.link);
  const waits = withoutNetwork(sites) ?? (isAsked ? linkWaits(name, { sites, plans, ranges: [] }) : undefined);
  return waits ?? (isAsked ? "it is asked for, and not there yet" : "nobody has asked for one");
}

/** Pods that are processes: agents carry between these, and no link does. */
function isLoopback(range: string): boolean {
  return range.startsWith("127.");
}
