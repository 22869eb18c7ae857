import { type Family, parseRange } from "../ip-range.ts";
import type { HomeWords } from "../network-state.ts";
import { homeChains } from "./home-words.ts";
import { type LanedPeer, wayLaneChains } from "./lanes.ts";
import { backstop, familyOf, inLane, WAY_ROUTES } from "./route-change.ts";

/** How a node is to reach the gateway of its site, or, where it is that one, how others reach it. */
export interface WayState {
  /** The own pod ranges. */
  readonly own: readonly string[];
  /** What peers' ranges are called here. */
  readonly ranges: readonly string[];
  /** Where the gateway is; none where this node is it, or nobody is. */
  readonly gateway: readonly string[];
  /** Who may send packets through the tunnel to this node: at the gateway the other nodes, elsewhere nobody. */
  readonly nodes: readonly string[];
  /** Where the node is that carries links when this one, which does now, falls silent. @default there is none */
  readonly heir?: readonly string[];
  /** Where links have several lanes, and this node does not carry all of them. @default there is one */
  readonly lanes?: WayLanes;
  /** What consumers call addresses otherwise than this site, for their guests. @default nothing */
  readonly homes?: readonly HomeWords[];
  /** Of a link. */
  readonly mtu: number;
}

export interface WayLanes {
  /** Of the own site. */
  readonly siteId?: string;
  /** By lane beyond the first, where the node is that carries it; none where this node is it, or nobody is. */
  readonly gateways: readonly (readonly string[])[];
  readonly peers: readonly WayPeer[];
  /** Whether it is chosen here which lane a packet takes: else links have a firewall here, which does. */
  readonly isChosen: boolean;
}

export interface WayPeer {
  readonly siteId: string;
  /** As they are called here. */
  readonly ranges: readonly string[];
  /** How many lanes there are to it. */
  readonly lanes: number;
  /** Of these, those by which it does not answer. */
  readonly silent: readonly number[];
}

/** What the node knows of the way to an address of the gateway. */
export interface Hop {
  readonly address: string;
  readonly device: string;
  /** Whether no router is in between. */
  readonly isNeighbour: boolean;
}

/** All that a node shall have for it. */
export interface Way {
  readonly routes: ReadonlyMap<string, string>;
  /** Those that are taken while the agent of this node, which carries links, is no more. */
  readonly heirRoutes: ReadonlyMap<string, string>;
  /** Whether the tunnel's interface is needed. */
  readonly tunnel: boolean;
  /** The chains of the table, by name. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

export const WAY_TABLE = "inet fjord-way";
/** UDP. */
export const TUNNEL_PORT = 7444;
const TUNNEL_ID = 7443;

/**
 * Packets to peers go to the gateway as they are where it is a neighbour, and else in a tunnel (VXLAN), as routers in between know
 * nothing of these addresses. What comes back takes the pods' own network.
 */
export function wayOf(
  state: WayState,
  hops: readonly Hop[],
  tunnelName: string,
  /** The same for each lane beyond the first. */
  ofLanes: readonly (readonly Hop[])[] = [],
  toHeir: readonly Hop[] = [],
): Way {
  const routes = new Map<string, string>();
  for (const range of state.ranges) {
    const to = routeTo(range, hops, tunnelName);
    if (to !== undefined) routes.set(range, to);
  }
  for (const { ranges, lanes } of state.lanes?.peers ?? [])
    for (const [i, ofLane] of ofLanes.slice(0, lanes - 1).entries())
      for (const range of ranges) {
        const to = routeTo(range, ofLane, tunnelName);
        if (to !== undefined) routes.set(inLane(WAY_ROUTES, i + 1, range), to);
      }
  const heirRoutes = new Map<string, string>();
  for (const range of state.ranges) {
    const to = routeTo(range, toHeir, tunnelName);
    if (to !== undefined) heirRoutes.set(range, to);
  }
  const hasWay = routes.size + heirRoutes.size > 0;
  const ways = [...routes.values(), ...heirRoutes.values()];
  const tunnel = state.nodes.length > 0 || ways.some((to) => to.startsWith("encap "));
  for (const range of state.ranges) routes.set(backstop(range), "");
  const chains = new Map<string, readonly string[]>();
  if (hasWay)
    chains.set("keep", [
      // Before those of the pods' network, which would give the pod the node's address.
      "type nat hook postrouting priority srcnat - 1; policy accept;",
      ...([4, 6] as const).flatMap((family) => keepRules(family, state)),
    ]);
  if (tunnel)
    chains.set("guard", [
      "type filter hook input priority filter; policy accept;",
      ...([4, 6] as const).flatMap((family) => {
        const nodes = ofFamily(family, state.nodes);
        return nodes === "" ? [] : [`udp dport ${TUNNEL_PORT} ${ip(family)} saddr { ${nodes} } accept`];
      }),
      `udp dport ${TUNNEL_PORT} drop`,
    ]);
  // Whoever takes a node's address on its wire gets no further by it than a pod does: to a link, where groups decide.
  if (tunnel)
    chains.set("tunnelled", [
      "type filter hook prerouting priority raw; policy accept;",
      ...([4, 6] as const).flatMap((family) => {
        const [own, remote] = [ofFamily(family, state.own), ofFamily(family, state.ranges)];
        if (state.nodes.length === 0 || own === "" || remote === "") return [];
        return [`iifname "${tunnelName}" ${ip(family)} saddr { ${own} } ${ip(family)} daddr { ${remote} } accept`];
      }),
      `iifname "${tunnelName}" drop`,
    ]);
  for (const [name, rules] of homeChains(state)) chains.set(name, rules);
  if (state.lanes?.isChosen)
    for (const [name, rules] of wayLaneChains(state.lanes.peers.map(withRanges), state.lanes.siteId))
      chains.set(name, rules);
  return { routes, heirRoutes, tunnel, chains };
}

/** Undefined where there is none. */
function routeTo(range: string, hops: readonly Hop[], tunnelName: string): string | undefined {
  const [first] = hops;
  if (first === undefined) return undefined;
  const neighbour = hops.find((hop) => hop.isNeighbour && familyOf(hop.address) === familyOf(range));
  if (neighbour !== undefined) return `via ${neighbour.address} dev ${neighbour.device}`;
  const { address: end } = first;
  return `encap ${familyOf(end) === 4 ? "ip" : "ip6"} id ${TUNNEL_ID} dst ${end} dev ${tunnelName}`;
}

function withRanges(peer: WayPeer): LanedPeer {
  return { ...peer, ranges: peer.ranges.flatMap((range) => parseRange(range) ?? []) };
}

/** Text for `nft -f`: the table in the place of whatever there is. */
export function wayFirewall({ chains }: Pick<Way, "chains">): string {
  const lines = [`table ${WAY_TABLE}`, `delete table ${WAY_TABLE}`];
  if (chains.size === 0) return `${lines.join("\n")}\n`;
  lines.push(`table ${WAY_TABLE} {`);
  for (const [name, rules] of chains) lines.push(`chain ${name} {`, ...rules, "}");
  return `${lines.join("\n")}\n}\n`;
}

function keepRules(family: Family, state: WayState): string[] {
  const [own, remote] = [ofFamily(family, state.own), ofFamily(family, state.ranges)];
  if (own === "" || remote === "") return [];
  const rule = (from: string, to: string) =>
    `${ip(family)} saddr { ${from} } ${ip(family)} daddr { ${to} } snat ${ip(family)} to ${ip(family)} saddr`;
  return [rule(own, remote), rule(remote, own)];
}

function ofFamily(family: Family, texts: readonly string[]): string {
  return texts.filter((text) => familyOf(text) === family).join(", ");
}

const ip = (family: Family) => (family === 4 ? "ip" : "ip6");
