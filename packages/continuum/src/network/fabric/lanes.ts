import { type Family, formatAddress, type IpRange, netmask } from "../ip-range.ts";
import { keyed, type PeerRules, RulesOfPeer } from "./peer-rules.ts";
import type { TableChain } from "./table.ts";

/** More would use up bits of marks, and no node has so many processors to spare. */
export const MOST_LANES = 8;

/** Bits of a mark that say which lane a packet takes; nothing where it is the first one. They are lent until the packet is routed. */
const MASK = 0x70;

/** Both ends of a link must come to the same. */
const SEED = "0x666a";

/** What `ip rule` asks of a packet of a lane; undefined for the first one, whose packets have no mark. */
export function laneMark(lane: number): string | undefined {
  return lane === 0 ? undefined : `0x${(lane << 4).toString(16)}/0x${MASK.toString(16)}`;
}

/** The lane that flows take for each of `count` numbers: their own, or where that is silent, the next one that is not. */
export function laneTargets(count: number, silent: readonly number[]): number[] {
  const isSilent = new Set(silent);
  const lanes = Array.from({ length: count }, (_, lane) => lane);
  return lanes.map(
    (lane) => lanes.map((_, after) => (lane + after) % count).find((each) => !isSilent.has(each)) ?? lane,
  );
}

export interface LanedPeer {
  readonly siteId: string;
  /** As they are called here. */
  readonly ranges: readonly IpRange[];
  /** How many lanes there are to it. */
  readonly lanes: number;
  /** Of these, those by which it does not answer. */
  readonly silent: readonly number[];
}

export interface LanedSite {
  /** Of the own site. */
  readonly siteId?: string;
  /** The lanes that this node carries itself. */
  readonly carried: readonly number[];
}

/**
 * By which lane flows go to a peer: by both ports, in the order of the two sites' ids, so that both directions take the same one. Addresses say nothing, as each
 * site has others for the same pods. What has no ports takes the first lane. A packet is enough to tell, so that all nodes of a site agree.
 */
export function laneRules(peer: LanedPeer, own: LanedSite): PeerRules {
  const rules = new RulesOfPeer();
  if (peer.lanes < 2) return rules;
  const chain = `lane-${peer.siteId}`;
  const targets = laneTargets(peer.lanes, peer.silent);
  const [mine, theirs] = ["th sport", "th dport"];
  const ports = own.siteId !== undefined && own.siteId > peer.siteId ? `${theirs} . ${mine}` : `${mine} . ${theirs}`;
  const portsAre = "meta l4proto { tcp, udp }";
  const byHash = (lanes: readonly number[]) =>
    `${portsAre} jhash ${ports} mod ${lanes.length} seed ${SEED} vmap { ${goto(lanes)} }`;
  const kept = own.siteId !== undefined && own.siteId > peer.siteId ? [theirs, mine] : [mine, theirs];
  const here = [...new Set(targets)].filter((lane) => own.carried.includes(lane));
  rules.chain(chain, [
    ...kept.map((port) => `${portsAre} ${port} vmap { ${goto(targets, exportPorts)} }`),
    // What a connection was led to has other ports than the peer knows of: it is led back here, so it goes out here.
    ...(here.length > 0 && here.length < peer.lanes
      ? [`ct direction reply ct status dnat ${here.length > 1 ? byHash(here) : `goto lane${here[0]}`}`]
      : []),
    byHash(targets),
    ...(targets[0] === 0 ? [] : [`goto lane${targets[0]}`]),
  ]);
  for (const range of peer.ranges) {
    const first = formatAddress(range.family, range.first);
    rules.element(`lane${keyed(range)}`, first, `: jump ${chain}`);
    rules.element(`laned${keyed(range)}`, first, "");
  }
  return rules;
}

function goto(lanes: readonly number[], key: (lane: number) => string = String): string {
  return lanes.map((lane, number) => `${key(number)} : goto lane${lane}`).join(", ");
}

/**
 * Connections to exports that came by a lane look, to what they are led to, as if they came from such a port: its answers, which know no other port of the
 * peer's, are led back to the node with that lane. Clients of their own seldom have ports of these, and take the same lane by them in both directions.
 */
export function exportPorts(lane: number): string {
  const first = 61_440 + 512 * lane;
  return `${first}-${first + 511}`;
}

/** The sets and chains that rules of peers go into; none where there is one lane. */
export function laneParts(
  count: number,
  lengths: Readonly<Record<Family, readonly number[]>>,
): { readonly sets: Map<string, string>; readonly chains: Map<string, TableChain> } {
  const sets = new Map<string, string>();
  const chains = new Map<string, TableChain>();
  if (count < 2) return { sets, chains };
  const looked = ([4, 6] as const).flatMap((family) =>
    lengths[family].map((length) => ({
      family,
      name: `${family}-${length}`,
      address: `${family === 4 ? "ip" : "ip6"} daddr & ${netmask(family, length)}`,
    })),
  );
  for (const { family, name } of looked) {
    sets.set(`lane${name}`, `map { type ipv${family}_addr : verdict; }`);
    sets.set(`laned${name}`, `set { type ipv${family}_addr; }`);
  }
  const others = `meta mark & ${hex(~MASK)}`;
  for (let lane = 0; lane < count; lane++)
    chains.set(`lane${lane}`, { rules: [`meta mark set ${others}${lane === 0 ? "" : ` | ${hex(lane << 4)}`}`] });
  chains.set("choose", {
    // Once Services have been led to their endpoints, and before routes are looked up.
    hook: "type filter hook prerouting priority dstnat + 5; policy accept;",
    rules: looked.map(({ name, address }) => `${address} vmap @lane${name}`),
  });
  chains.set("give-back", {
    hook: "type filter hook forward priority raw; policy accept;",
    rules: looked.map(
      ({ name, address }) => `meta mark & ${hex(MASK)} != 0 ${address} @laned${name} meta mark set ${others}`,
    ),
  });
  return { sets, chains };
}

const hex = (bits: number) => `0x${(bits >>> 0).toString(16)}`;
