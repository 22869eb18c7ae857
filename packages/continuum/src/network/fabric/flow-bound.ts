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
  /** New flows, which may be closed at once: the kernel remembers those for two minutes more. */
  readonly perSecond: number;
  readonly burst: number;
}

/** The kernel looks at each of them when another one comes. */
const PART = 128;
const MOST_BITS = 10;

/** Where the kernel remembers so many: an eighth of them open, and as many new ones as fill half of it in two minutes. */
export function flowBound(remembered: number): FlowBound {
  const all = Math.max(PART, Math.floor(remembered / 8));
  const bits = Math.min(MOST_BITS, Math.floor(Math.log2(all / PART)));
  const perSecond = Math.max(1, Math.floor(remembered / 256));
  return { bits, held: Math.floor(all / 2 ** bits), perSecond, burst: Math.max(1, Math.floor(remembered / 16)) };
}

/** What stands for a peer while its new flow is counted: the same in every process. Two may have the same one by chance, and share what is theirs. */
export function flowMark(siteId: string): number {
  const hash = createHash("sha256").update(`fjord flows ${siteId}`).digest().readUInt32BE(0);
  return ((hash >>> MOST_BITS) << MOST_BITS) >>> 0;
}

/** By what sources packets of a peer are known: its ranges, and its gateway. WireGuard takes no others from it; from a hub, those behind it. */
export function flowSources({ siteId, ranges, lanes, via, fallback, relayTo }: CheckedPeer): PeerRules {
  const rules = new RulesOfPeer();
  const mark = `: ${flowMark(siteId)}`;
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

/**
 * Text for `nft -f`, over what there is: counts stay. A part is chosen by the ports, each bit by a hash of its own, as nft puts no hash together with something else. What
 * cannot be counted is dropped.
 */
export function flowTable(interfaces: readonly string[], { bits, held, perSecond, burst }: FlowBound): string {
  const names = `{ ${interfaces.map((name) => JSON.stringify(name)).join(", ")} }`;
  const refuse = "counter name refused drop";
  const part = (bit: number) => `jhash th sport . th dport mod 2 seed ${bit + 1} 1 ct mark set ct mark | ${1 << bit}`;
  const chains: Record<string, readonly string[]> = {
    count: [`iifname ${names} ${OPENING} goto opening`],
    opening: [
      `update @openings { ct mark limit rate ${perSecond}/second burst ${burst} packets } goto holding`,
      refuse,
    ],
    holding: [
      ...Array.from({ length: bits }, (_, bit) => part(bit)),
      `add @held { ct mark ct count ${held} } accept`,
      refuse,
    ],
  };
  const hook = `type filter hook prerouting priority ${FLOW_PRIORITIES.count}; policy accept;`;
  return [
    `add table ${FLOWS_TABLE}`,
    `add counter ${FLOWS_TABLE} refused`,
    `add set ${FLOWS_TABLE} openings { type mark; size 65536; flags dynamic,timeout; timeout 1m; }`,
    `add set ${FLOWS_TABLE} held { type mark; size 1048576; flags dynamic; }`,
    ...Object.keys(chains).map((name) => `add chain ${FLOWS_TABLE} ${name}${name === "count" ? ` { ${hook} }` : ""}`),
    ...Object.keys(chains).map((name) => `flush chain ${FLOWS_TABLE} ${name}`),
    ...Object.entries(chains).flatMap(([name, rules]) =>
      rules.map((rule) => `add rule ${FLOWS_TABLE} ${name} ${rule}`),
    ),
    "",
  ].join("\n");
}

export const REMOVED_FLOWS = `table ${FLOWS_TABLE}\ndelete table ${FLOWS_TABLE}\n`;
