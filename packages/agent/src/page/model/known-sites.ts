import type { Contract, Site, VirtualNode } from "@fjord/api";
import type { World } from "./world.ts";

/** Who is who: sites by id, and the site behind each virtual node. */
export interface KnownSites {
  readonly self: string;
  readonly selfId: string | undefined;
  nameOf(id: string | undefined): string;
  /** The site that a node is, or stands for; the own one for nodes of its own. */
  siteOfNode(node: string | undefined): string;
  isVirtual(node: string | undefined): boolean;
}

export function idOf({ status, spec }: Site): string | undefined {
  return status?.id ?? spec.id;
}

export function knownSites({ sites, virtualNodes, contracts }: World): KnownSites {
  const own = sites.find(({ status }) => status?.role === "Self");
  const self = own?.metadata.name ?? "";
  const names = new Map(sites.map((site) => [idOf(site), site.metadata.name ?? ""]));
  // A site that was forgotten while a contract lasts is called by the beginning of its id.
  const nameOf = (id: string | undefined) => names.get(id) ?? id?.slice(0, 8) ?? "";
  const behind = new Map(virtualNodes.map((node) => [node.metadata.name, nameOf(providerOf(node, contracts))]));
  return {
    self,
    selfId: own && idOf(own),
    nameOf,
    siteOfNode: (node) => behind.get(node) ?? self,
    isVirtual: (node) => behind.has(node),
  };
}

function providerOf({ status, spec }: VirtualNode, contracts: readonly Contract[]): string | undefined {
  if (status?.provider !== undefined) return status.provider;
  return contracts.find(({ metadata }) => metadata.name === spec.contract)?.spec.terms.provider;
}
