import { type Family, formatRange, type IpRange, lastOf, overlaps, parseRange } from "../ip-range.ts";
import { linkAddress, relayAddress } from "../link-address.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { summarise } from "../ranges.ts";
import { apartBehindHubs } from "./apart-behind-hubs.ts";
import { type CheckedPeer, checkPeer } from "./checked-peer.ts";
import { InvalidNetworkState } from "./errors.ts";
import { exportRules } from "./export-rules.ts";
import { flowSources } from "./flow-bound.ts";
import { laneRules, MOST_LANES } from "./lanes.ts";
import { keyed, lookupRanges, type PeerRules, peerRules } from "./peer-rules.ts";
import { peerText } from "./peer-text.ts";
import { type TableParts, tableParts } from "./table.ts";
import { withoutCircles } from "./without-circles.ts";

/** All that a node shall have for its links, peer by peer. */
export interface Fabric {
  readonly interfaces: readonly FabricInterface[];
  readonly mtu: number;
  /** The own ranges. */
  readonly own: readonly string[];
  /** How many lanes the site's links have, whoever carries them. */
  readonly lanes: number;
  /** The own address by which hubs lead to it. */
  readonly relayAddress?: string;
  readonly table: TableParts;
  /** What the table was made of: where it differs, the table is made anew. */
  readonly tableKey: string;
  readonly peers: ReadonlyMap<string, FabricPeer>;
  /** Of what is exported to any of them. */
  readonly exports: { readonly rules: PeerRules };
  /** Peers that are left out, and why. */
  readonly faults: ReadonlyMap<string, string>;
  /** The next one of those numbers. None is used again, so that none ever means something else. */
  readonly nextNumber: number;
}

export interface FabricInterface {
  readonly name: string;
  readonly lane: number;
  /** The own address on this lane. */
  readonly linkAddress?: string;
  readonly listenPort: number;
}

export interface FabricPeer {
  readonly checked: CheckedPeer;
  /** What it was made of: the peer's values, and what of the site and of other peers counts for it. */
  readonly source: string;
  readonly around: string;
  /** What its groups, and ranges that are in groups, are known by in the firewall. */
  readonly numbers: ReadonlyMap<string, number>;
  readonly rules: PeerRules;
  /** Ranges that are routed into the interfaces, and accepted from the peer. */
  readonly ranges: readonly string[];
  /** The sorts of ranges that its packets are looked up by, each once: `4-16`. */
  readonly lookups: readonly string[];
  /** The largest packet that is sent there, where that is less than the interface's. */
  readonly mtu?: number;
  /** Addresses of gateways that are accepted from the peer on the first lane: its own, and those that it leads to as a hub. */
  readonly gateways: readonly string[];
}

export interface FabricOptions {
  /** What the interfaces are called, before their number. */
  readonly interfacePrefix: string;
  /** Whether links can go through a hub: into themselves. @default true */
  readonly canNest?: boolean;
  /** What peers do not know, nor their guests here. It is the same as long as a gateway runs, and so is what the kernel counts each peer's flows by. @default none */
  readonly secret?: string;
}

/**
 * What `state` asks of a node. What has not changed since `previous` is taken over as it is; numbers of groups stay. A peer whose
 * values cannot be is left out, and with it all its traffic; the others are not touched by that.
 */
export function fabricOf(wanted: NetworkState, options: FabricOptions, previous?: Fabric): Fabric {
  const { own, count, carried } = checkState(wanted);
  const { canNest = true } = options;
  const ordered = apartBehindHubs(withoutCircles(inOrder(wanted.peers), canNest));
  const state = { ...wanted, peers: withFallbacks({ ...wanted, peers: ordered }, canNest) };
  const faults = new Map<string, string>();
  const candidates: Candidate[] = [];
  const site = `${state.siteId} ${state.mtu} ${count}`;
  const hasHubs = state.peers.some(({ link }) => hubOf(link) !== undefined);
  const behind = hasHubs ? behindHubs(state.peers) : new Map<string, PeerNetwork[]>();
  const mtus = new Map(
    hasHubs ? state.peers.map((peer) => [peer.siteId, Math.min(peer.mtu ?? state.mtu, state.mtu)]) : [],
  );
  for (const peer of state.peers) {
    const relayed = behind.get(peer.siteId)?.map(({ siteId }) => siteId);
    const hub = hubOf(peer.link);
    const around = relayed === undefined && hub === undefined ? site : `${site} ${relayed} ${mtus.get(hub ?? "")}`;
    const source = peerText(peer);
    const known = previous?.peers.get(peer.siteId);
    const isKnown = known?.source === source && known.around === around;
    const checked = isKnown ? known.checked : check(peer, count);
    if ("fault" in checked) faults.set(peer.siteId, checked.fault);
    else candidates.push({ checked, source, around, isKnown, ...(known && { known }) });
  }
  const ranges = own.map(formatRange);
  const isSettled = previous?.faults.size === 0 && previous.own.join() === ranges.join();
  if (!isSettled || !isFree(own, candidates))
    for (const [siteId, fault] of conflicts(own, candidates)) faults.set(siteId, fault);
  for (const [siteId, fault] of hubFaults(state.siteId, candidates, faults)) faults.set(siteId, fault);
  if (!canNest)
    for (const { checked } of candidates) if (checked.via !== undefined) faults.set(checked.siteId, NOT_NESTED);
  const fitting = faults.size === 0 ? candidates : candidates.filter(({ checked }) => !faults.has(checked.siteId));
  let nextNumber = previous?.nextNumber ?? 1;
  const peers = new Map<string, FabricPeer>();
  for (const { checked, source, around, isKnown, known } of fitting) {
    if (isKnown && known !== undefined) {
      peers.set(checked.siteId, known);
      continue;
    }
    const numbers = new Map<string, number>();
    const numberOf = (key: string): number => {
      const number = numbers.get(key) ?? known?.numbers.get(key) ?? nextNumber++;
      numbers.set(key, number);
      return number;
    };
    const mtu = mtuOf(checked, state.mtu, mtus);
    const gateways = [
      linkAddress(checked.siteId),
      ...(checked.relayTo.length > 0 ? [relayAddress(checked.siteId)] : []),
      ...(behind.get(checked.siteId) ?? []).map(({ siteId }) => relayAddress(siteId)),
    ];
    const laned = { ...checked, lanes: checked.lanes.length };
    const rules = [laneRules(laned, state.siteId), flowSources(checked, options.secret)].reduce(
      joined,
      peerRules(checked, numberOf),
    );
    const isSmaller = mtu < state.mtu;
    const called = { ranges: checked.ranges.map(formatRange), lookups: lookupsOf(checked) };
    const made = { checked, source, around, numbers, rules, ...called, ...(isSmaller && { mtu }), gateways };
    peers.set(checked.siteId, made);
  }
  const interfaces = carried.map((lane) => ({
    name: `${options.interfacePrefix}${lane}`,
    lane,
    listenPort: state.listenPort + lane,
    ...(state.siteId !== undefined && { linkAddress: linkAddress(state.siteId, lane) }),
  }));
  const lengths = lengthsOf(peers);
  const isRelaying = fitting.some(
    ({ checked }) => checked.via !== undefined || checked.fallback !== undefined || checked.relayTo.length > 0,
  );
  const relaying =
    isRelaying && state.siteId !== undefined
      ? { relay: { address: relayAddress(state.siteId), ports: [state.listenPort] } }
      : {};
  const names = interfaces.map(({ name }) => name);
  const exports = { rules: exportRules(state.exports ?? []) };
  const exporting = exports.rules.chains.size > 0;
  const tableOptions = {
    interfaces: names,
    own,
    linkAddresses: interfaces.flatMap((each) => each.linkAddress ?? []),
    ...relaying,
    lengths,
    exporting,
    machines: machinesOf(state, own),
    lanes: count,
    laneInterfaces: count === 1 ? [] : interfaces.map(({ lane, name }) => [lane, name] as const),
    isShared: carried.length < count,
  };
  const tableKey = JSON.stringify({ ...tableOptions, own: own.map(formatRange) });
  const table = previous?.tableKey === tableKey ? previous.table : tableParts(tableOptions);
  const relayed = relaying.relay && { relayAddress: relaying.relay.address };
  const whole = { own: ranges, table, tableKey, peers, exports, faults, nextNumber };
  return { interfaces, lanes: count, mtu: state.mtu, ...relayed, ...whole };
}

const NOT_NESTED =
  "the kernel's WireGuard does not lead through another site: start the gateway with --wireguard=auto or userspace";

/** A peer that may be among those that there are; `known` is what it was before, and `isKnown` whether it is that still. */
type Candidate = Pick<FabricPeer, "checked" | "source" | "around"> & {
  readonly isKnown: boolean;
  readonly known?: FabricPeer;
};

/** Whether a link goes through another one, or may. A hub that has no link here leads nowhere, whoever names it. */
export function isNested({ peers }: NetworkState): boolean {
  const ids = new Set(peers.map(({ siteId }) => siteId));
  return peers.some(({ siteId, link }) => {
    const hub = hubOf(link);
    return hub !== undefined && hub !== siteId && ids.has(hub);
  });
}

/** Of two that cannot both be, the one that this site has met stays. */
function inOrder(peers: readonly PeerNetwork[]): readonly PeerNetwork[] {
  if (!peers.some(({ introduced }) => introduced)) return peers;
  const byWhom = Map.groupBy(peers, ({ introduced = false }) => introduced);
  return [...(byWhom.get(false) ?? []), ...(byWhom.get(true) ?? [])];
}

/** The one that leads to a peer, or may. */
function hubOf(link: PeerNetwork["link"] | undefined): string | undefined {
  return link?.via ?? link?.fallback?.via;
}

/** By hub. An address that two have is taken from one hub alone: of the one that this site leads others to, else of the first. */
function behindHubs(peers: readonly PeerNetwork[]): Map<string | undefined, PeerNetwork[]> {
  const addresses = new Set(
    peers.flatMap(({ siteId, relayTo }) => (relayTo === undefined ? [] : relayAddress(siteId))),
  );
  const isFirst = ({ siteId, link }: PeerNetwork) => {
    const address = relayAddress(siteId);
    if (hubOf(link) === undefined || addresses.has(address)) return false;
    addresses.add(address);
    return true;
  };
  return Map.groupBy(peers.filter(isFirst), ({ link }) => hubOf(link));
}

/** Those that are outermost, as nftables takes no address twice; own pods are none of them. */
function machinesOf({ machines = [] }: NetworkState, own: readonly IpRange[]): string[] {
  const ranges = machines.flatMap((text) => parseRange(text) ?? []);
  return summarise(ranges.filter((range) => !own.some((each) => overlaps(each, range)))).map(formatRange);
}

/** What WireGuard adds to a packet, with IPv4 and UDP; it fills up to sixteens. */
const AROUND = 60;

/** The largest packet that gets to a peer. What goes through a hub is wrapped twice. */
function mtuOf({ mtu, via: hub, fallback }: CheckedPeer, largest: number, mtus: ReadonlyMap<string, number>): number {
  // What may go through a hub at any moment is small enough for that.
  const via = hub ?? fallback?.via;
  const own = Math.min(mtu ?? largest, largest);
  return via === undefined ? own : Math.min(own, Math.floor(((mtus.get(via) ?? 0) - AROUND) / 16) * 16);
}

function checkState(state: NetworkState): { own: IpRange[]; count: number; carried: number[] } {
  const refuse = (reason: string) => new InvalidNetworkState({ reason });
  const { listenPort, mtu, parallel: count = 1 } = state;
  if (!Number.isInteger(count) || count < 1 || count > MOST_LANES)
    throw refuse(`there cannot be ${count} interfaces side by side`);
  const carried = state.carried ?? Array.from({ length: count }, (_, lane) => lane);
  if (carried.some((lane) => !Number.isInteger(lane) || lane < 0 || lane >= count))
    throw refuse(`there are no lanes ${carried.join(", ")} among ${count}`);
  if (!Number.isInteger(listenPort) || listenPort < 1 || listenPort + count > 65_536)
    throw refuse(`${listenPort} is not a port`);
  if (!Number.isInteger(mtu) || mtu < 1280 || mtu > 65_535) throw refuse(`packets cannot be of ${mtu} bytes`);
  const own = state.ranges.map((text) => {
    const range = parseRange(text);
    if (range === undefined) throw refuse(`${JSON.stringify(text)} is not a range of addresses`);
    return range;
  });
  return { own, count, carried: [...new Set(carried)].sort((one, other) => one - other) };
}

/** A way through a hub that leads nowhere is no fault of a peer that can be met: it has none. Nor has one that this site leads others to: its address leads to it. */
function withFallbacks({ siteId, peers }: NetworkState, canNest: boolean): readonly PeerNetwork[] {
  if (!peers.some(({ link }) => link?.fallback !== undefined)) return peers;
  const hubs = new Set(peers.filter(({ link }) => link?.via === undefined).map((peer) => peer.siteId));
  const isRelayed = ({ link, relayTo = [] }: PeerNetwork) => link?.via !== undefined || relayTo.length > 0;
  const addresses = new Set(peers.filter(isRelayed).map((peer) => relayAddress(peer.siteId)));
  return peers.map((peer) => {
    const { fallback, ...link } = peer.link ?? {};
    if (fallback === undefined) return peer;
    const address = relayAddress(peer.siteId);
    const isGood =
      canNest &&
      siteId !== undefined &&
      link.via === undefined &&
      fallback.via !== peer.siteId &&
      hubs.has(fallback.via) &&
      !addresses.has(address);
    if (isGood) addresses.add(address);
    return isGood ? peer : { ...peer, link };
  });
}

function check(peer: PeerNetwork, lanes: number): ReturnType<typeof checkPeer> {
  try {
    return checkPeer(peer, lanes);
  } catch (error) {
    // A value of another type than it must be.
    return { fault: String(error) };
  }
}

/** Whether none of those that are not what they were has a range or a key of another one's, or of the site: of the others it is known. */
function isFree(own: readonly IpRange[], peers: readonly Candidate[]): boolean {
  const isSame = ({ checked, known }: Candidate) =>
    known !== undefined &&
    (known.checked === checked ||
      (known.checked.publicKey === checked.publicKey && sameRanges(known.checked.ranges, checked.ranges)));
  const others = peers.filter((peer) => !peer.isKnown && !isSame(peer)).map(({ checked }) => checked);
  const collide = (one: CheckedPeer, other: CheckedPeer) =>
    one !== other && (one.publicKey === other.publicKey || anyOverlap(one.ranges, other.ranges));
  if (new Set(peers.map(({ checked }) => checked.siteId)).size < peers.length) return false;
  return others.every(
    (one) =>
      !anyOverlap(one.ranges, own) &&
      !one.ranges.some((range, i) => anyOverlap([range], one.ranges.slice(i + 1))) &&
      !peers.some(({ checked }) => collide(one, checked)),
  );
}

function anyOverlap(some: readonly IpRange[], others: readonly IpRange[]): boolean {
  return some.some((one) => others.some((other) => overlaps(one, other)));
}

function sameRanges(some: readonly IpRange[], others: readonly IpRange[]): boolean {
  return some.map(formatRange).join() === others.map(formatRange).join();
}

/** Peers whose ranges or keys another one has, or the site itself: they would get what is meant for that one. */
function conflicts(own: readonly IpRange[], peers: readonly { checked: CheckedPeer }[]): Map<string, string> {
  const faults = new Map<string, string>();
  const keys = new Map<string, string>();
  const entries: { range: IpRange; order: number; siteId?: string }[] = own.map((range) => ({ range, order: -1 }));
  for (const [order, { checked }] of peers.entries()) {
    const { siteId, publicKey, ranges } = checked;
    const other = keys.get(publicKey);
    if (other !== undefined) faults.set(siteId, `site ${other} has the same key`);
    keys.set(publicKey, other ?? siteId);
    for (const range of ranges) entries.push({ range, order, siteId });
  }
  entries.sort(
    (a, b) =>
      a.range.family - b.range.family || compare(a.range.first, b.range.first) || a.range.length - b.range.length,
  );
  let outer: (typeof entries)[number] | undefined;
  for (const entry of entries) {
    if (outer?.range.family !== entry.range.family || lastOf(outer.range) < entry.range.first) {
      outer = entry;
      continue;
    }
    const [winner, loser] = outer.order < entry.order ? [outer, entry] : [entry, outer];
    const names = `${formatRange(loser.range)} overlaps with ${formatRange(winner.range)}`;
    // The site's own ranges may stand in each other: that is its own business.
    if (loser.siteId !== undefined) faults.set(loser.siteId, `${names} of ${winner.siteId ?? "this site"}`);
    if (loser === outer) outer = entry;
  }
  return faults;
}

/** Peers behind a hub that is none, or that cannot be told apart there. */
function hubFaults(
  own: string | undefined,
  peers: readonly { checked: CheckedPeer }[],
  faults: ReadonlyMap<string, string>,
): Map<string, string> {
  const found = new Map<string, string>();
  if (!peers.some(({ checked }) => checked.via !== undefined || checked.relayTo.length > 0)) return found;
  const hubs = new Map(peers.map(({ checked }) => [checked.siteId, checked]));
  const addresses = new Map<string, string>();
  // Who is met directly has no fault by what another one says of itself.
  const ordered = peers.toSorted((a, b) => Number(a.checked.via !== undefined) - Number(b.checked.via !== undefined));
  for (const { checked } of ordered) {
    const { siteId, via, relayTo } = checked;
    if (via === undefined && relayTo.length === 0) continue;
    if (own === undefined) found.set(siteId, "the own id is not known, by which hubs lead here");
    const address = relayAddress(siteId);
    const other = addresses.get(address);
    if (other !== undefined) found.set(siteId, `site ${other} has the same address behind hubs`);
    addresses.set(address, other ?? siteId);
    if (via === undefined) continue;
    const hub = hubs.get(via);
    if (hub === undefined || faults.has(via))
      found.set(siteId, `there is no link with site ${via}, which is to lead there`);
    else if (hub.via !== undefined)
      found.set(siteId, `site ${via}, which is to lead there, is itself behind another one`);
  }
  return found;
}

function joined(one: PeerRules, other: PeerRules): PeerRules {
  if (other.chains.size === 0 && other.elements.size === 0) return one;
  // They have no set in common.
  return {
    chains: new Map([...one.chains, ...other.chains]),
    elements: new Map([...one.elements, ...other.elements]),
  };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function lookupsOf(checked: CheckedPeer): string[] {
  return [...new Set(lookupRanges(checked).map(keyed))];
}

/** Of ranges that packets are looked up by, the longest first. */
function lengthsOf(peers: ReadonlyMap<string, FabricPeer>): Record<Family, number[]> {
  const all = new Set<string>();
  for (const { lookups } of peers.values()) for (const each of lookups) all.add(each);
  const ofFamily = (family: Family) =>
    [...all].flatMap((each) => (each.startsWith(`${family}-`) ? Number(each.slice(2)) : [])).sort((a, b) => b - a);
  return { 4: ofFamily(4), 6: ofFamily(6) };
}
