import { calledThere, meantThere, type PathEnd } from "@fjord/continuum/network-path";
import { idOf, siteOfNode } from "../place/known-places.ts";
import { podOfAddress } from "./path-ends.ts";
import type { SiteNetwork } from "./site-network.ts";

/** An end as two sites have it. */
export interface SharedEnd {
  /** As the site that is asked has it, with the pod that the API of the other has of it. */
  readonly here: PathEnd;
  /** As the other one has it, where that has the pod. */
  readonly there?: PathEnd;
}

/** With what the API of the other site has of an end: of its own pods, and of those that it has elsewhere. */
export async function seenThere(
  network: SiteNetwork,
  peer: SiteNetwork | undefined,
  end: PathEnd,
  signal: AbortSignal,
): Promise<SharedEnd> {
  const plan = peer && network.plans.find(({ spec }) => spec.site === peer.id);
  const isTheirs = end.site === peer?.id;
  if (peer === undefined || plan === undefined || !(isTheirs || end.site === network.id)) return { here: end };
  const address = isTheirs ? meantThere(plan.spec, end.address) : calledThere(plan.spec, end.address);
  const pod = address === undefined ? undefined : await podOfAddress(peer.client, address, signal);
  if (address === undefined || pod === undefined) return { here: end };
  // What only the other site's API knows by name.
  const { namespace, name } = pod.metadata;
  const title = end.pod === undefined ? `${end.address}, pod ${namespace}/${name} of ${peer.name}` : end.title;
  const site = siteOfNode(peer.places, pod.spec?.nodeName);
  return { here: { ...end, title, there: pod }, there: { title, site: site && idOf(site), address, pod } };
}

/**
 * Whether the other site is the one to ask for a way: agents lead by what the consumer says of both ends, and a provider has of a connection only what the
 * consumer calls it.
 */
export function isKnownThere(
  { plans }: Pick<SiteNetwork, "plans">,
  peer: Pick<SiteNetwork, "id">,
  ends: readonly SharedEnd[],
): boolean {
  const isCarried = plans.some(({ spec }) => spec.site === peer.id && spec.carrier === "Proxy");
  return isCarried && ends.every(({ there }) => there !== undefined) && ends.some(({ here }) => here.pod === undefined);
}
