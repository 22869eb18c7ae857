import { Contract, Peering, Site, VirtualNode } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import { getCondition, isForbidden, isNotFound, type KubeClient } from "@fjord/kube";

/** What this site knows of others: enough to say at which one a pod is. */
export interface KnownPlaces {
  readonly sites: readonly Site[];
  readonly virtualNodes: readonly VirtualNode[];
  readonly contracts: readonly Contract[];
  readonly peerings: readonly Peering[];
}

/** Nothing at all where the cluster has no Fjord: its pods are all here. */
export async function knownPlaces(client: KubeClient, signal: AbortSignal): Promise<KnownPlaces> {
  const [sites, virtualNodes, contracts, peerings] = await Promise.all([
    listed(client, Site, signal),
    listed(client, VirtualNode, signal),
    listed(client, Contract, signal),
    listed(client, Peering, signal),
  ]);
  return { sites, virtualNodes: virtualNodes.filter(hasItsNode), contracts, peerings };
}

/** Not where a machine of the cluster has its name: that one's pods are here. */
export function hasItsNode({ status }: VirtualNode): boolean {
  return getCondition(status?.conditions, "Ready")?.reason !== "NodeNameTaken";
}

/** Nothing where somebody may not look at sites: what they may do otherwise, they may do without names. */
export async function placesAsFarAsMay(client: KubeClient, signal: AbortSignal): Promise<KnownPlaces> {
  try {
    return await knownPlaces(client, signal);
  } catch (error) {
    if (isForbidden(error)) return { sites: [], virtualNodes: [], contracts: [], peerings: [] };
    throw error;
  }
}

async function listed<T extends KubeObject>(client: KubeClient, kind: Kind<T>, signal: AbortSignal): Promise<T[]> {
  try {
    return (await client.list(kind, { signal, omitManagedFields: true })).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

export function idOf({ spec, status }: Site): string | undefined {
  return status?.id ?? spec.id;
}

export function ownSiteIn({ sites }: Pick<KnownPlaces, "sites">): Site | undefined {
  return sites.find(({ status }) => status?.role === "Self");
}

export function siteById(places: Pick<KnownPlaces, "sites">, id: string | undefined): Site | undefined {
  return id === undefined ? undefined : places.sites.find((site) => idOf(site) === id);
}

/** The virtual node's site, or the own one; undefined where nothing is known of it. */
export function siteOfNode(places: KnownPlaces, node: string | undefined): Site | undefined {
  const virtual = places.virtualNodes.find(({ metadata }) => metadata.name === node);
  if (virtual === undefined) return ownSiteIn(places);
  const contract = places.contracts.find(({ metadata }) => metadata.name === virtual.spec.contract);
  return siteById(places, virtual.status?.provider ?? contract?.spec.terms.provider);
}

/** The name of a pod's site for people. */
export function siteNameOfNode(places: KnownPlaces, node: string | undefined): string {
  if (node === undefined || node === "") return "nowhere";
  return siteOfNode(places, node)?.metadata.name ?? "here";
}

/** Why nothing at a node can be asked for now, where that is known; undefined: nothing is known against it. */
export function silenceOf(places: KnownPlaces, node: string | undefined): string | undefined {
  const virtual = places.virtualNodes.find(({ metadata }) => metadata.name === node);
  if (virtual === undefined) return undefined;
  const site = siteOfNode(places, node);
  const silence = site && silenceOfSite(site);
  if (silence !== undefined) return silence;
  const ready = getCondition(virtual.status?.conditions, "Ready");
  if (ready?.reason !== "ProviderUnreachable") return undefined;
  return `${siteNameOfNode(places, node)} does not answer${inBrackets(ready)}`;
}

/** Why nothing can be asked of a site now; undefined: nothing is known against it. */
export function silenceOfSite({ metadata, status }: Site): string | undefined {
  const reachable = getCondition(status?.conditions, "Reachable");
  return reachable?.status === "False" ? `${metadata.name} does not answer${inBrackets(reachable)}` : undefined;
}

function inBrackets({ message }: { readonly message: string }): string {
  return message === "" ? "" : ` (${message})`;
}
