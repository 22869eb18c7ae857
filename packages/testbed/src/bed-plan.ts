import { join } from "node:path";
import type { KubernetesMinor } from "./binaries/versions.ts";
import { type NodeNetwork, pathAddress, type SiteComponents, type SiteLayout, siteRanges } from "./site-layout.ts";

export interface BedPlan {
  readonly id: string;
  readonly directory: string;
  readonly sites: number;
  readonly overlap: boolean;
  /** Taken by the sites in turn. */
  readonly kubernetes: readonly KubernetesMinor[];
  readonly components: SiteComponents;
  /** Five for each site. */
  readonly ports: readonly number[];
  /** The third byte of each site's node network; empty for a bed without real nodes. */
  readonly nodeSubnets: readonly number[];
}

export const portsPerSite = 5;

/** Lays all sites of a bed out. */
export function planSites(plan: BedPlan): SiteLayout[] {
  const networks = plan.nodeSubnets.map((subnet, i) => nodeNetwork(plan.id, i + 1, subnet));
  return Array.from({ length: plan.sites }, (_, i) => planSite(plan, i + 1, networks));
}

function planSite(plan: BedPlan, index: number, networks: readonly NodeNetwork[]): SiteLayout {
  const name = `site-${index}`;
  const ranges = siteRanges(index, plan.overlap);
  const network = networks[index - 1];
  const [apiserver = 0, etcd = 0, etcdPeer = 0, controllerManager = 0, scheduler = 0] = plan.ports.slice(
    (index - 1) * portsPerSite,
  );
  const others = Array.from({ length: plan.sites }, (_, i) => i + 1).filter((from) => from !== index);
  return {
    name,
    index,
    kubernetes: plan.kubernetes[(index - 1) % plan.kubernetes.length] as KubernetesMinor,
    directory: join(plan.directory, name),
    address: network?.address ?? "127.0.0.1",
    ports: { apiserver, etcd, etcdPeer, controllerManager, scheduler },
    ...ranges,
    // Other sites come by paths, which end at addresses of theirs.
    certificateAddresses: [
      "127.0.0.1",
      ranges.apiServiceAddress,
      ...others.map((from) => pathAddress(from, index)),
      ...networks.map(({ address }) => address),
    ],
    components: plan.components,
    ...(network && { nodeNetwork: network }),
  };
}

/** Node networks are cut from 198.18.0.0/16, a range set aside for tests of networks: no real one is hidden by it. */
function nodeNetwork(bed: string, index: number, subnet: number): NodeNetwork {
  return { bridge: `fj${bed}-${index}`, cidr: `198.18.${subnet}.0/24`, address: `198.18.${subnet}.1` };
}

/** Third bytes of 198.18.0.0/16 that none of the host's addresses has, beginning at `first`. */
export function freeNodeSubnets(count: number, hostAddresses: readonly string[], first: number): number[] {
  const taken = new Set(
    hostAddresses.filter((address) => address.startsWith("198.18.")).map((address) => Number(address.split(".")[2])),
  );
  return Array.from({ length: 256 }, (_, i) => (first + i) % 256)
    .filter((subnet) => !taken.has(subnet))
    .slice(0, count);
}
