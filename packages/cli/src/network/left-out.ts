import { isSaidSilent, siteOfAddress } from "@fjord/continuum/network-path";
import type { EndpointSlice, Pod } from "@fjord/kube";
import { idOf, siteOfNode } from "../place/known-places.ts";
import type { SiteNetwork } from "./site-network.ts";

/** An endpoint of a Service that nothing is sent to now. */
export interface LeftOut {
  readonly to: string;
  readonly reason: string;
}

/** Those that are not ready, and why: nobody goes there, so that they have no way. */
export function leftOutOf(
  slices: readonly Pick<EndpointSlice, "endpoints">[],
  pods: readonly Pod[],
  network: Pick<SiteNetwork, "id" | "places" | "plans" | "links" | "ranges" | "nameOf" | "reachable">,
): LeftOut[] {
  const addresses = slices.flatMap(({ endpoints }) =>
    (endpoints ?? []).filter(({ conditions }) => conditions?.ready === false).flatMap((each) => each.addresses),
  );
  return [...new Set(addresses)].map((address) => {
    const pod = pods.find(({ status }) => addressesOf(status).includes(address));
    const at = pod && siteOfNode(network.places, pod.spec?.nodeName);
    const site = pod === undefined ? siteOfAddress(address, network) : at && idOf(at);
    const { namespace, name } = pod?.metadata ?? {};
    return { to: pod === undefined ? address : `pod ${namespace}/${name}`, reason: reasonOf(site, network) };
  });
}

function addressesOf(status: Pod["status"]): readonly (string | undefined)[] {
  return (status?.podIPs ?? [{ ip: status?.podIP }]).map(({ ip }) => ip);
}

function reasonOf(
  site: string | undefined,
  { id, plans, links, nameOf, reachable }: Parameters<typeof leftOutOf>[2],
): string {
  if (site === undefined || site === id) return "it is not ready";
  const name = nameOf(site) ?? site;
  if (isSaidSilent(links.find(({ spec }) => spec.site === site)))
    return `it is not ready, as the link with ${name} has fallen silent`;
  const isCarried = plans.some(({ spec }) => spec.site === site && spec.carrier === "Proxy");
  if (isCarried && reachable?.(site) === false) return `it is not ready, and ${name} does not answer`;
  return `it is not ready, at ${name}`;
}
