import { formatAddress } from "../ip-range.ts";
import { linkAddress, relayAddress } from "../link-address.ts";
import type { CheckedPeer } from "./checked-peer.ts";
import { keyed, type PeerRules, RulesOfPeer } from "./peer-rules.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** A table of its own: what peers hold is counted on where the links' firewall is made anew. */
export const FLOWS_TABLE = "inet fjord-flows";

/** What one peer may have of the flows that a node's kernel remembers. */
export interface FlowBound {
  /** Parts that its flows are counted in, as bits: the kernel looks through one of them for each new flow. */
  readonly bits: number;
  /** Open flows of each part. */
  readonly held: number;
  /** New flows, which may be closed at once: the kernel remembers those for a while more, and counts them no longer. */
  readonly perMinute: number;
  readonly burst: number;
  /** For so many seconds. */
  readonly remembersClosed: number;
}

/** The kernel looks at each of them when another one comes. */
const PART = 128;
const MOST_BITS = 10;
/** Shares are of so many at least, so that each of a few peers has the same whoever else comes. */
const FEWEST = 4;

/** How long the kernel remembers what was closed where it is told so, and where it cannot be told. */
export const CLOSED_SECONDS = { told: 10, untold: 120 } as const;

/**
 * A peer's share, where the kernel remembers so many and there are so many peers: all peers together have half of them open, and as many new ones as that closed ones are less than a quarter, so
 * that the rest is the node's own. It is another one only when peers are more than 4, 8, 16 and so on: those that are counted by one share are not by the next.
 */
export function flowBound(remembered: number, peers: number, remembersClosed: number = CLOSED_SECONDS.told): FlowBound {
  const shares = 2 ** Math.ceil(Math.log2(Math.max(peers, FEWEST)));
  const all = Math.max(1, Math.floor(remembered / 2 / shares));
  const bits = Math.max(0, Math.min(MOST_BITS, Math.floor(Math.log2(all / PART))));
  const perMinute = Math.max(1, Math.floor((remembered * 60 * CLOSED_SECONDS.told) / (64 * shares * remembersClosed)));
  const burst = Math.max(1, Math.floor(remembered / 16 / shares));
  return { bits, held: Math.floor(all / 2 ** bits), perMinute, burst, remembersClosed };
}

/**
 * What stands for a peer while its new flow is counted: the same in every process that knows the `secret`. Two may have the same one by chance, and share what is theirs; without the
 * secret nobody can choose a key whose id has that of another.
 */
export function flowMark(siteId: string, secret = ""): number {
  const hash = createHash("sha256").update(`fjord flows ${secret} ${siteId}`).digest().readUInt32BE(0);
  return ((hash >>> MOST_BITS) << MOST_BITS) >>> 0;
}

/** By what sources packets of a peer are known: its ranges, and its gateway. WireGuard takes no others from it; from a hub, those behind it. */
export function flowSources(
  { siteId, ranges, lanes, via, fallback, relayTo }: CheckedPeer,
  secret?: string,
): PeerRules {
  const rules = new RulesOfPeer();
  const mark = `: ${flowMark(siteId, secret)}`;
  for (const range of ranges) rules.element(`from${keyed(range)}`, formatAddress(range.family, range.first), mark);
  for (const lane of lanes.keys()) rules.element("gateways6", linkAddress(siteId, lane), mark);
  const isRelayed = via !== undefined || fallback !== undefined || relayTo.length > 0;
  if (isRelayed) rules.element("gateways4", relayAddress(siteId), mark);
  return rules;
}

/** Packets that begin a flow: of one that nobody has answered all are `new`, and the kernel knows it nevertheless. */
export const OPENING = "ct state new ct status ! confirmed";

/** Where flows get the mark of their peer, are counted, and lose it: once the kernel tracks them, and before anybody else could look. */
export const FLOW_PRIORITIES = { mark: -199, count: -198, unmark: -197 } as const;

/** What is counted by a bound keeps it: by another one it is counted elsewhere. */
export function flowSets({ bits, held, perMinute, burst }: FlowBound): {
  readonly openings: string;
  readonly held: string;
} {
  return { openings: `openings-${perMinute}-${burst}`, held: `held-${bits}-${held}` };
}

/** Whether a table, as `nft -j list table` prints it, counts by this bound. */
export function countsBy(bound: FlowBound, json: string): boolean {
  const { nftables } = JSON.parse(json) as { nftables: readonly { set?: { name: string } }[] };
  const there = new Set(nftables.map(({ set }) => set?.name));
  return Object.values(flowSets(bound)).every((name) => there.has(name));
}

/**
 * Text for `nft -f`, over what there is: counts stay. A part is chosen by the ports, each bit by a hash of its own, as nft puts no hash together with something else. What
 * cannot be counted is dropped.
 */
export function flowTable(interfaces: readonly string[], bound: FlowBound): string {
  const { bits, held, perMinute, burst, remembersClosed } = bound;
  const names = `{ ${interfaces.map((name) => JSON.stringify(name)).join(", ")} }`;
  const sets = flowSets(bound);
  const refuse = "counter name refused drop";
  const part = (bit: number) => `jhash th sport . th dport mod 2 seed ${bit + 1} 1 ct mark set ct mark | ${1 << bit}`;
  const isTold = remembersClosed !== CLOSED_SECONDS.untold;
  const chains: Record<string, readonly string[]> = {
    count: [`iifname ${names} ${OPENING} goto opening`],
    opening: [
      `update @${sets.openings} { ct mark limit rate ${perMinute}/minute burst ${burst} packets } goto holding`,
      refuse,
    ],
    holding: [
      ...Array.from({ length: bits }, (_, bit) => part(bit)),
      `add @${sets.held} { ct mark ct count ${held} } goto admit`,
      refuse,
    ],
    admit: [...(isTold ? ['meta l4proto tcp ct timeout set "brief"'] : []), "accept"],
  };
  const hook = `type filter hook prerouting priority ${FLOW_PRIORITIES.count}; policy accept;`;
  const brief = `{ protocol tcp; policy = { close: ${remembersClosed}, time_wait: ${remembersClosed} }; }`;
  return [
    `add table ${FLOWS_TABLE}`,
    `add counter ${FLOWS_TABLE} refused`,
    ...(isTold ? [`add ct timeout ${FLOWS_TABLE} brief ${brief}`] : []),
    `add set ${FLOWS_TABLE} ${sets.openings} { type mark; size 65536; flags dynamic,timeout; timeout 1m; }`,
    `add set ${FLOWS_TABLE} ${sets.held} { type mark; size 1048576; flags dynamic; }`,
    ...Object.keys(chains).map((name) => `add chain ${FLOWS_TABLE} ${name}${name === "count" ? ` { ${hook} }` : ""}`),
    ...Object.keys(chains).map((name) => `flush chain ${FLOWS_TABLE} ${name}`),
    ...Object.entries(chains).flatMap(([name, rules]) =>
      rules.map((rule) => `add rule ${FLOWS_TABLE} ${name} ${rule}`),
    ),
    "",
  ].join("\n");
}

export const REMOVED_FLOWS = `table ${FLOWS_TABLE}\ndelete table ${FLOWS_TABLE}\n`;
