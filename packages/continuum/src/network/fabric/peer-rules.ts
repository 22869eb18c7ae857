import { contains, type Family, formatAddress, formatRange, hostMask, type IpRange, isAddress } from "../ip-range.ts";
import { relayAddress } from "../link-address.ts";
import type { CheckedGroup, CheckedPeer, Renaming } from "./checked-peer.ts";
import { OPEN_MARK } from "./table.ts";

/** What nftables holds for one peer, and for no other: it comes and goes without a look at the others. */
export interface PeerRules {
  /** Rules by chain. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** By set or map, what is behind each key: nothing, or `: value`. */
  readonly elements: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/**
 * Nearly everything goes into hashes, so that a packet, and a change, cost the same however much there is: what is remote, an
 * address or a range, leads to a number, and a local address is let through together with that, which leads to what it is called at the other end. Only ranges that are
 * local, and remote addresses that are in several groups, get rules in chains of the peer's: nft reads all chains that there are for each change. `numberOf` gives the
 * same key the same number, and no other key that one.
 */
export function peerRules(peer: CheckedPeer, numberOf: (key: string) => number): PeerRules {
  const rules = new RulesOfPeer();
  if (peer.via !== undefined || peer.fallback !== undefined) rules.element("behind", relayAddress(peer.siteId), "");
  for (const other of peer.relayTo)
    rules.element("relays", `${relayAddress(peer.siteId)} . ${relayAddress(other)}`, "");
  const opened = addGroups(peer, numberOf, rules);
  if (opened.length > 0) {
    addNames(peer, rules);
    const chain = `open-${peer.siteId}`;
    rules.chain(chain, opened);
    for (const range of peer.ranges) rules.element(`open${keyed(range)}`, first(range), `: jump ${chain}`);
  }
  return rules;
}

/** Remote ranges that packets are looked up by: there are maps for their lengths. */
export function lookupRanges({ ranges, groups }: CheckedPeer): IpRange[] {
  return [...ranges, ...groups.flatMap(({ remote }) => remote.filter((range) => !isAddress(range)))];
}

/** What the sets that are looked up by masked addresses are called after their letter: `4-16`. */
export function keyed({ family, length }: IpRange): string {
  return `${family}-${length}`;
}

/** Own ranges that a peer calls otherwise. */
function renamedOf({ own }: CheckedPeer): Renaming[] {
  return own.filter(({ range, called }) => range.first !== called.first);
}

/** For what is let through by its range. */
function addNames(peer: CheckedPeer, rules: RulesOfPeer): void {
  const renamed = renamedOf(peer);
  if (renamed.length === 0) return;
  rules.chain(
    `in-${peer.siteId}`,
    renamed.map(({ range, called }) => rename("daddr", { from: called, to: range })),
  );
  rules.chain(
    `out-${peer.siteId}`,
    renamed.map(({ range, called }) => rename("saddr", { from: range, to: called })),
  );
  for (const range of peer.ranges) {
    if (!renamed.some((each) => each.range.family === range.family)) continue;
    rules.element(`in${keyed(range)}`, first(range), `: jump in-${peer.siteId}`);
    rules.element(`out${keyed(range)}`, first(range), `: jump out-${peer.siteId}`);
  }
}

/** By prefix and without memory: what comes back is undone by the rule of the other direction. */
function rename(field: "saddr" | "daddr", { from, to }: { from: Renaming["range"]; to: Renaming["range"] }): string {
  const address = `${ip(from.family)} ${field}`;
  const mask = formatAddress(from.family, hostMask(from.family, from.length));
  return `${address} ${formatRange(from)} ${address} set ${address} & ${mask} | ${first(to)} return`;
}

function addGroups(peer: CheckedPeer, numberOf: (key: string) => number, rules: RulesOfPeer): string[] {
  const opened: string[] = [];
  const inGroup = new Set<string>();
  const renamed = renamedOf(peer);
  for (const group of peer.groups) {
    for (const family of [4, 6] as const) {
      const { local, remote } = ofFamily(group, family);
      const addresses = local.filter(isAddress);
      const ranges = local.filter((range) => !isAddress(range));
      const again: IpRange[] = [];
      const numbers = new Set<number>();
      for (const range of addresses.length > 0 ? remote : []) {
        if (!isAddress(range)) {
          const number = numberOf(`range ${formatRange(range)}`);
          numbers.add(number);
          rules.element(`range${keyed(range)}`, first(range), `: ${number}`);
        } else if (inGroup.has(first(range))) again.push(range);
        else {
          const number = numberOf(`group ${group.name}`);
          numbers.add(number);
          rules.element(`group${family}`, first(range), `: ${number}`);
        }
      }
      for (const range of remote) inGroup.add(first(range));
      for (const address of addresses) {
        const [here, there] = [first(address), calledThere(address, renamed)];
        for (const number of numbers) {
          rules.element(`leaving${family}`, `${here} . ${number}`, `: ${there}`);
          rules.element(`arriving${family}`, `${there} . ${number}`, `: ${here}`);
        }
      }
      if (again.length > 0) opened.push(...openRules(family, addresses, again));
      if (ranges.length > 0 && remote.length > 0) opened.push(...openRules(family, ranges, remote));
    }
  }
  return opened;
}

/** What a local address is called at the other end. */
function calledThere(address: IpRange, renamed: readonly Renaming[]): string {
  const naming = renamed.find(({ range }) => contains(range, address));
  if (naming === undefined) return first(address);
  return formatAddress(address.family, address.first - naming.range.first + naming.called.first);
}

function openRules(family: Family, local: readonly IpRange[], remote: readonly IpRange[]): string[] {
  const [here, there] = [anyOf(local), anyOf(remote)];
  return [
    `${ip(family)} saddr ${there} ${ip(family)} daddr ${here} meta mark set ${OPEN_MARK} return`,
    `${ip(family)} saddr ${here} ${ip(family)} daddr ${there} meta mark set ${OPEN_MARK} return`,
  ];
}

/** nftables takes no address twice: what is inside of another range is left out. */
function anyOf(ranges: readonly IpRange[]): string {
  const sorted = ranges.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : a.length - b.length));
  const outermost: IpRange[] = [];
  for (const range of sorted) {
    const last = outermost.at(-1);
    if (last === undefined || !contains(last, range)) outermost.push(range);
  }
  return `{ ${outermost.map(formatRange).join(", ")} }`;
}

function ofFamily(group: CheckedGroup, family: Family) {
  const some = (ranges: readonly IpRange[]) => ranges.filter((range) => range.family === family);
  return { local: some(group.local), remote: some(group.remote) };
}

const ip = (family: Family) => (family === 4 ? "ip" : "ip6");
const first = (range: IpRange) => formatAddress(range.family, range.first);

/** Collects them. */
export class RulesOfPeer implements PeerRules {
  readonly chains = new Map<string, readonly string[]>();
  readonly elements = new Map<string, Map<string, string>>();

  chain(name: string, rules: readonly string[]): void {
    this.chains.set(name, rules);
  }

  element(set: string, key: string, value: string): void {
    const elements = this.elements.get(set) ?? new Map<string, string>();
    this.elements.set(set, elements.set(key, value));
  }
}
