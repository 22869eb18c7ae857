import { join } from "node:path";
import type { Substrate } from "./binaries/versions.ts";
import {
  type IpFamilies,
  maxSites,
  type NodeNetwork,
  pathAddress,
  type SiteComponents,
  type SiteLayout,
  siteRanges,
} from "./site-layout.ts";

export interface BedPlan {
  readonly id: string;
  readonly directory: string;
  readonly sites: number;
  /** What they are called. @default `site-1`, `site-2`, ... */
  readonly names?: readonly string[];
  readonly overlap: boolean;
  /** @default "ipv4" */
  readonly families?: IpFamilies;
  /** Taken by the sites in turn. */
  readonly kubernetes: readonly Substrate[];
  readonly components: SiteComponents;
  /** Five for each site. */
  readonly ports: readonly number[];
  /** The third byte of each site's node network; empty for a bed without real nodes. */
  readonly nodeSubnets: readonly number[];
  /** The number of the first site's ranges. @default 1 */
  readonly firstRange?: number;
}

export const portsPerSite = 5;

/** Lays all sites of a bed out. */
export function planSites(plan: BedPlan): SiteLayout[] {
  const networks = plan.nodeSubnets.map((subnet, i) => nodeNetwork(plan, i + 1, subnet));
  return Array.from({ length: plan.sites }, (_, i) => planSite(plan, i + 1, networks));
}

function planSite(plan: BedPlan, index: number, networks: readonly NodeNetwork[]): SiteLayout {
  const name = plan.names?.[index - 1] ?? `site-${index}`;
  const ranges = siteRanges(index, plan.overlap, plan.firstRange, plan.families);
  const network = networks[index - 1];
  const [apiserver = 0, etcd = 0, etcdPeer = 0, controllerManager = 0, scheduler = 0] = plan.ports.slice(
    (index - 1) * portsPerSite,
  );
  const others = Array.from({ length: plan.sites }, (_, i) => i + 1).filter((from) => from !== index);
  return {
    name,
    index,
    kubernetes: plan.kubernetes[(index - 1) % plan.kubernetes.length] as Substrate,
    directory: join(plan.directory, name),
    // The API says by what address pods find it: one of theirs.
    address: (plan.families === "ipv6" ? network?.ipv6?.address : network?.address) ?? "127.0.0.1",
    ports: { apiserver, etcd, etcdPeer, controllerManager, scheduler },
    ...ranges,
    // Other sites come by paths, which end at addresses of theirs.
    certificateAddresses: [
      "127.0.0.1",
      ranges.apiServiceAddress,
      ...others.map((from) => pathAddress(from, index)),
      ...networks.flatMap(({ address, ipv6 }) => [address, ...(ipv6 ? [ipv6.address] : [])]),
    ],
    components: plan.components,
    ...(network && { nodeNetwork: network }),
  };
}

/** Node networks are cut from 198.18.0.0/16, a range set aside for tests of networks: no real one is hidden by it. */
function nodeNetwork({ id, families = "ipv4" }: BedPlan, index: number, subnet: number): NodeNetwork {
  const ipv6 = { cidr: `fd79:${subnet}::/64`, address: `fd79:${subnet}::1` };
  return {
    bridge: `fj${id}-${index}`,
    cidr: `198.18.${subnet}.0/24`,
    address: `198.18.${subnet}.1`,
    ...(families !== "ipv4" && { ipv6 }),
  };
}

/** Third bytes of 198.18.0.0/16 that none of the host's addresses has, and that can be taken, beginning at `first`. */
export function freeNodeSubnets(
  count: number,
  hostAddresses: readonly string[],
  first: number,
  take: (subnet: number) => boolean = () => true,
): number[] {
  const taken = new Set(
    hostAddresses.filter((address) => address.startsWith("198.18.")).map((address) => Number(address.split(".")[2])),
  );
  const found: number[] = [];
  for (let i = 0; i < 256 && found.length < count; i++) {
    const subnet = (first + i) % 256;
    if (!taken.has(subnet) && take(subnet)) found.push(subnet);
  }
  return found;
}

/**
 * The number of the first ranges in a row, from `first` on, to whose pods the host has no way yet by the text of
 * /proc/net/route, and that can be taken. Beds with real nodes that run side by side would else be led to each other's pods.
 */
export function freeRanges(
  count: number,
  routes: string,
  first = 1,
  take: (podCidr: string) => boolean = () => true,
): number {
  const taken = new Set(routes.split("\n").map((line) => line.split("\t")[1]));
  const isFree = (number: number) => {
    const ranges = Array.from({ length: count }, (_, i) => siteRanges(i + 1, false, number).podCidr);
    return ranges.every((podCidr) => !taken.has(routeTable(podCidr))) && ranges.every(take);
  };
  return Array.from({ length: maxSites }, (_, i) => ((first - 1 + i) % maxSites) + 1).find(isFree) ?? first;
}

/** An address as the kernel's table of routes has it: 10.101.0.0 is 0000650A. */
function routeTable(cidr: string): string {
  const [address = ""] = cidr.split("/");
  const bytes = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  return bytes.toReversed().join("").toUpperCase();
}
