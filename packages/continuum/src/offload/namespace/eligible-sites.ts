import { type Offloading, SITE_LABEL } from "@fjord/api";
import { matchesSelector, type Node } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";

/**
 * Sites behind virtual nodes that the Offloading selects. A Node that somebody has deleted, or whose labels, is made again: while a
 * provider has none nobody knows whether it is selected, and the namespace stays where it is, with all that its twin keeps.
 */
export function eligibleSites(
  { spec, status }: Offloading,
  nodes: readonly Node[],
  inForce: ReadonlySet<SiteId>,
): Set<SiteId> {
  const labels = nodes.map(({ metadata }) => metadata.labels ?? {});
  const selected = labels.filter((each) => matchesSelector(spec.sites, each)).flatMap((each) => each[SITE_LABEL] ?? []);
  const seen = new Set(labels.map((each) => each[SITE_LABEL]));
  const told = (status?.sites ?? []).map(({ site }) => site);
  return new Set([...selected, ...told.filter((site) => inForce.has(site) && !seen.has(site))]);
}
