import { type Offloading, SITE_LABEL } from "@fjord/api";
import { matchesSelector, type Node } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import type { KnownVirtualNode } from "../../virtual-nodes.ts";
import { hasGivenLabels } from "../node/index.ts";

/**
 * Sites behind virtual nodes that the Offloading selects. A Node that somebody has deleted, or whose labels somebody has taken or
 * changed, is put right: until all nodes of a provider are as their owner wants them nobody knows whether one is selected, and the
 * namespace stays where it is, with all that its twin keeps.
 */
export function eligibleSites(
  { spec, status }: Offloading,
  nodes: readonly Node[],
  known: readonly KnownVirtualNode[],
  inForce: ReadonlySet<SiteId>,
): Set<SiteId> {
  const labels = nodes.map(({ metadata }) => metadata.labels ?? {});
  const selected = labels.filter((each) => matchesSelector(spec.sites, each)).flatMap((each) => each[SITE_LABEL] ?? []);
  const told = (status?.sites ?? []).map(({ site }) => site);
  return new Set([...selected, ...told.filter((site) => inForce.has(site) && !isJudged(site, nodes, known))]);
}

/** Whether the Nodes of a site say what their owner wants. */
function isJudged(site: SiteId, nodes: readonly Node[], known: readonly KnownVirtualNode[]): boolean {
  const own = known.filter((each) => each.site === site).map(({ name }) => name);
  const settled = nodes.filter((node) => node.metadata.labels?.[SITE_LABEL] === site && hasGivenLabels(node));
  const names = new Set(settled.map(({ metadata }) => metadata.name));
  return own.length > 0 && own.every((name) => names.has(name));
}
