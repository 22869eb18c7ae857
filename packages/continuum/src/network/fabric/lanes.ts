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

/**
 * By which lane flows go to a peer: by both ports, in the order of the two sites' ids, so that both directions take the same one. Addresses say nothing, as each
 * site has others for the same pods. What has no ports takes the first lane. A packet is enough to tell, so that all nodes of a site agree. `own` is the own site's id.
 */
export function laneRules(peer: LanedPeer, own: string | undefined): PeerRules {
  const rules = new RulesOfPeer();
  if (peer.lanes < 2) return rules;
  const [chain, led] = [`lane-${peer.siteId}`, `led-${peer.siteId}`];
  const targets = laneTargets(peer.lanes, peer.silent);
  const isLast = own !== undefined && own > peer.siteId;
  rules.chain(led, byPorts(targets, inOrder("ct original proto-dst", "ct original proto-src", isLast)));
  rules.chain(chain, [
    // What a connection was led to has another port than the peer knows of: what came in says which.
    `ct direction reply ct status dnat goto ${led}`,
    ...byPorts(targets, inOrder("th sport", "th dport", isLast)),
    ...(targets[0] === 0 ? [] : [`goto lane${targets[0]}`]),
  ]);
  for (const range of peer.ranges) {
    const first = formatAddress(range.family, range.first);
    rules.element(`lane${keyed(range)}`, first, `: jump ${chain}`);
    rules.element(`laned${keyed(range)}`, first, "");
  }
  return rules;
}

/** The port of the site whose id comes first, and the other's. */
function inOrder(mine: string, theirs: string, isLast: boolean): [string, string] {
  return isLast ? [theirs, mine] : [mine, theirs];
}

function byPorts(targets: readonly number[], ports: readonly [string, string]): string[] {
  const portsAre = "meta l4proto { tcp, udp }";
  const hash = `jhash ${ports.join(" . ")} mod ${targets.length} seed ${SEED}`;
  return [
    ...ports.map((port) => `${portsAre} ${port} vmap { ${goto(targets, exportPorts)} }`),
    `${portsAre} ${hash} vmap { ${goto(targets)} }`,
  ];
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

/**
 * The sets and chains that rules of peers go into; none where there is one lane. Where other nodes carry some (`isShared`), what the node itself sends has to find
 * its lane too: it would else be led back to the node from which it comes, which takes no packet from itself.
 */
export function laneParts(
  count: number,
  lengths: Readonly<Record<Family, readonly number[]>>,
  isShared = false,
): { readonly sets: Map<string, string>; readonly chains: Map<string, TableChain> } {
  const sets = new Map<string, string>();
  const chains = new Map<string, TableChain>();
  if (count < 2) return { sets, chains };
  const looked = ([4, 6] as const).flatMap((family) =>
    lengths[family].map((length) => ({ family, name: `${family}-${length}`, address: maskedAddress(family, length) })),
  );
  for (const { family, name } of looked) {
    sets.set(`lane${name}`, `map { type ipv${family}_addr : verdict; }`);
    sets.set(`laned${name}`, `set { type ipv${family}_addr; }`);
  }
  for (const [name, rules] of markChains(count)) chains.set(name, { rules });
  const choosing = looked.map(({ name, address }) => `${address} vmap @lane${name}`);
  const giving = looked.map(({ name, address }) => givenBack(`${address} @laned${name}`));
  for (const [name, hook] of laneHooks(isShared))
    chains.set(name, { hook, rules: name.startsWith("choose") ? choosing : giving });
  return { sets, chains };
}

/** Chains of a node that carries no lane, and has no firewall of links, for those that do: with their hooks, as the table of the way has them. */
export function wayLaneChains(peers: readonly LanedPeer[], own: string | undefined): Map<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>();
  const laned = peers.filter(({ lanes }) => lanes > 1);
  if (laned.length === 0) return chains;
  for (const [name, rules] of markChains(Math.max(...laned.map(({ lanes }) => lanes)))) chains.set(name, rules);
  const elements = new Map<string, Map<string, string>>();
  for (const peer of laned) {
    const rules = laneRules(peer, own);
    for (const [name, lines] of rules.chains) chains.set(name, lines);
    for (const [name, of] of rules.elements) elements.set(name, new Map([...(elements.get(name) ?? []), ...of]));
  }
  const looked = [...elements].flatMap(([name, of]) => {
    const [, family = "4", length = "0"] = /^lane(\d)-(\d+)$/.exec(name) ?? [];
    const address = maskedAddress(family === "6" ? 6 : 4, Number(length));
    return name.startsWith("laned") ? [] : [{ address, of }];
  });
  const choosing = looked.map(
    ({ address, of }) => `${address} vmap { ${[...of].map((each) => each.join(" ")).join(", ")} }`,
  );
  const giving = looked.map(({ address, of }) => givenBack(`${address} { ${[...of.keys()].join(", ")} }`));
  for (const [name, hook] of laneHooks(true))
    chains.set(name, [hook, ...(name.startsWith("choose") ? choosing : giving)]);
  return chains;
}

function laneHooks(isShared: boolean): [string, string][] {
  return [
    // Once Services have been led to their endpoints, and before routes are looked up.
    ["choose", "type filter hook prerouting priority dstnat + 5; policy accept;"],
    ["give-back", "type filter hook forward priority raw; policy accept;"],
    ...(isShared
      ? ([
          ["choose-own", "type route hook output priority -95; policy accept;"],
          ["give-back-own", "type filter hook postrouting priority raw; policy accept;"],
        ] as [string, string][])
      : []),
  ];
}

function markChains(count: number): [string, readonly string[]][] {
  return Array.from({ length: count }, (_, lane) => [
    `lane${lane}`,
    [`meta mark set ${OTHERS}${lane === 0 ? "" : ` | ${hex(lane << 4)}`}`],
  ]);
}

function maskedAddress(family: Family, length: number): string {
  return `${family === 4 ? "ip" : "ip6"} daddr & ${netmask(family, length)}`;
}

function givenBack(match: string): string {
  return `meta mark & ${hex(MASK)} != 0 ${match} meta mark set ${OTHERS}`;
}

const hex = (bits: number) => `0x${(bits >>> 0).toString(16)}`;

/** Of a mark, what is not Fjord's. */
const OTHERS = `meta mark & ${hex(~MASK)}`;
