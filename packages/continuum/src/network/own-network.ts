import type { Site } from "@fjord/api";
import type { Node } from "@fjord/kube";
import { nthPort } from "./fabric/checked-peer.ts";
import type { IpRange } from "./ip-range.ts";
import { EXPORT_RANGES } from "./link-address.ts";
import { isPodRange } from "./network-facts.ts";
import { formatCidr, parseCidr, parseCidrs, summarise } from "./ranges.ts";

/** More would be no plan that a peer takes: the owner names fewer, wider ones. */
const MOST_RANGES = 16;
const MOST_ENDPOINTS = 8;
/** How often a side that cannot be dialled keeps its way through a NAT open. */
const KEEPALIVE_SECONDS = 25;

/** What a site's owner and its nodes say of its network. */
export interface OwnNetwork {
  /** That its pods have addresses of, and what is exported; empty where nobody says. */
  readonly ranges: readonly IpRange[];
  /** What no peer's range may be called here, other peers' names aside. */
  readonly taken: readonly IpRange[];
  /** Where names for peers' ranges come from. */
  readonly pools: readonly IpRange[];
  /** Where peers reach the gateway. */
  readonly endpoints: readonly string[];
  /** The same for each lane beyond the first. */
  readonly lanes: readonly (readonly string[])[];
  /** Machines that reach own pods at providers. */
  readonly machines: readonly string[];
  /** WireGuard's. */
  readonly port: number;
  readonly keepaliveSeconds?: number;
}

/** Undefined where the owner wants no links. */
export function ownNetwork(
  site: Site | undefined,
  nodes: readonly Node[],
  serviceRanges: readonly string[],
  /** What stands for exports to the peer that this is for. */
  exportRanges: readonly IpRange[] = [],
): OwnNetwork | undefined {
  const network = site?.spec.network;
  if (network === undefined) return undefined;
  const told = nodes.flatMap(({ spec }) => spec?.podCIDRs ?? []);
  // Of one that peers do not take, they would take nothing else either.
  const pods = summarise(parseCidrs(network.podRanges ?? told).filter(isPodRange))
    .filter(isPodRange)
    .slice(0, MOST_RANGES - exportRanges.length);
  const ranges = pods.length === 0 ? [] : [...pods, ...exportRanges];
  // With their neighbours: routers, and whoever nodes ask for names or for files. A peer could else have its pods called so, and nobody would reach these.
  const addresses = nodes.flatMap(({ status }) => status?.addresses ?? []);
  const hosts = addresses.flatMap(({ address }) => parseCidr(`${address}/${address.includes(":") ? 64 : 24}`) ?? []);
  const taken = [...parseCidrs([...told, ...serviceRanges, ...(network.reserved ?? [])]), ...pods, ...hosts];
  const known = network.endpoints ?? hostsOf(site?.spec.endpoints ?? []).map((host) => `${host}:${network.port}`);
  // Where the links are now goes before where they may be.
  const endpoints = [...new Set([...(site?.status?.gateway?.endpoints ?? []), ...known])].slice(0, MOST_ENDPOINTS);
  return {
    ranges,
    taken,
    pools: parseCidrs(network.names),
    endpoints,
    lanes: laneEndpoints(site, endpoints),
    machines: summarise(parseCidrs(network.machines ?? [])).map(formatCidr),
    port: network.port,
    ...(endpoints.length === 0 && { keepaliveSeconds: KEEPALIVE_SECONDS }),
  };
}

/** Whether the owner lets guests of a consumer meet those at its other providers. */
export function takesPart(site: Site | undefined): boolean {
  return site?.spec.network !== undefined && site.spec.network.introductions !== "Refuse";
}

/** By lane beyond the first: where the node is that carries it, and so many ports further than the first. */
function laneEndpoints(site: Site | undefined, endpoints: readonly string[]): string[][] {
  const carriers = laneCarriers(site);
  return Array.from({ length: laneCount(site) - 1 }, (_, i) => {
    const further = endpoints.flatMap((each) => nthPort(each, i + 1) ?? []);
    return [...new Set([...(carriers[i + 1]?.endpoints ?? []), ...further])].slice(0, MOST_ENDPOINTS);
  });
}

export type LaneCarrier = Omit<
  NonNullable<NonNullable<NonNullable<Site["status"]>["gateway"]>["lanes"]>[number],
  "lane"
>;

/** By lane, who carries it, where that is said. Where the first one's is another than it says itself, all that is said of lanes is old. */
export function laneCarriers(site: Site | undefined): (LaneCarrier | undefined)[] {
  const { gateway } = site?.status ?? {};
  const isOld = gateway?.lanes?.find(({ lane }) => lane === 0)?.node !== gateway?.node;
  return Array.from({ length: laneCount(site) }, (_, lane) =>
    lane === 0 ? gateway : isOld ? undefined : gateway?.lanes?.find((each) => each.lane === lane),
  );
}

/** As many as the owner wants, and ports are left for. */
export function laneCount(site: Site | undefined): number {
  const { lanes = 1, port = 0 } = site?.spec.network ?? {};
  return Math.max(1, Math.min(lanes, 65_536 - port));
}

/** That machines of the site are known by at providers, by family. */
export function machineRanges(site: Site | undefined): IpRange[] {
  const machines = site?.spec.network?.machines ?? [];
  return ([4, 6] as const)
    .filter((family) => machines.some((each) => each.includes(":") === (family === 6)))
    .map((family) => EXPORT_RANGES[family]);
}

/** Each once; an IPv6 address in its brackets. */
function hostsOf(endpoints: readonly string[]): string[] {
  return [...new Set(endpoints.flatMap((endpoint) => URL.parse(endpoint)?.hostname ?? []))];
}
