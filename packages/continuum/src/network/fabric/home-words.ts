import { contains, type Family, type IpRange, overlaps } from "../ip-range.ts";
import type { HomeWords, Naming } from "../network-state.ts";
import { parseAddress, parseCidr, parseCidrs } from "../ranges.ts";
import { familyOf } from "./route-change.ts";

/** Addresses that no machine has anywhere. */
const NOBODYS = parseCidrs(["240.0.0.0/4", "fd66:6a6f::/32"]);
/** Behind those by which Services are led to their endpoints: what these take is theirs. */
const AFTER_SERVICES = -99;

export interface HomeWordsOf {
  /** The own pod ranges. */
  readonly own: readonly string[];
  /** What peers' ranges are called here. */
  readonly ranges: readonly string[];
  readonly homes?: readonly HomeWords[];
}

/**
 * Chains that lead guests to an address by what their home calls it: by prefix, and by connection, so that what answers has the address that was asked. A guest's address says
 * whose words it uses. A pod that is led to itself is given the node's address, as it would else answer itself.
 *
 * Guests on the node's network have its address, and say not whose they are. They are led to pods of this site alone, and by words that can mean nothing else.
 */
export function homeChains({ own, ranges, homes = [] }: HomeWordsOf): Map<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>();
  const leads: string[] = [];
  const selves: string[] = [];
  const known = homes.map(({ addresses, names }) => ({
    addresses: addresses.filter(isAddress),
    names: names.filter(fits),
  }));
  for (const family of [4, 6] as const) {
    const jumps: string[] = [];
    for (const [index, { addresses, names }] of known.entries()) {
      const guests = addresses.filter((address) => familyOf(address) === family);
      const rules = names.filter(({ range }) => familyOf(range) === family).map(leadRule);
      if (guests.length === 0 || rules.length === 0) continue;
      const chain = `home${family}-${index + 1}`;
      chains.set(chain, rules);
      jumps.push(...guests.map((guest) => `${guest} : jump ${chain}`));
    }
    if (jumps.length === 0) continue;
    const guests = [...new Set(jumps.map((jump) => jump.split(" ", 1)[0] ?? ""))];
    leads.push(`${ip(family)} saddr vmap { ${unique(jumps).join(", ")} }`);
    const itself = guests.map((guest) => `${guest} . ${guest}`).join(", ");
    selves.push(`ct status dnat ${ip(family)} saddr . ${ip(family)} daddr { ${itself} } masquerade`);
  }
  if (leads.length === 0) return chains;
  chains.set("home", [`type nat hook prerouting priority ${AFTER_SERVICES}; policy accept;`, ...leads]);
  chains.set("self", ["type nat hook postrouting priority srcnat - 1; policy accept;", ...selves]);
  const hostRules = hostNames(
    known.flatMap(({ names }) => names),
    parseCidrs(own),
    parseCidrs(ranges),
  ).map(leadRule);
  if (hostRules.length > 0)
    chains.set("host", [`type nat hook output priority ${AFTER_SERVICES}; policy accept;`, ...hostRules]);
  return chains;
}

/** Of words for own pods, those that are the same for all consumers, and are nobody's address and no name here. */
function hostNames(names: readonly Naming[], own: readonly IpRange[], ranges: readonly IpRange[]): Naming[] {
  const byWord = Map.groupBy(names, ({ called }) => called);
  return [...byWord.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined || same.some(({ range }) => range !== first.range)) return [];
    const [word, place] = [parseCidr(first.called), parseCidr(first.range)];
    if (word === undefined || place === undefined || !own.some((range) => contains(range, place))) return [];
    const isFree = NOBODYS.some((range) => contains(range, word)) && !ranges.some((range) => overlaps(range, word));
    return isFree ? [first] : [];
  });
}

/** nftables takes no key twice: of two that have one address, the first. */
function unique(jumps: readonly string[]): string[] {
  return [...Map.groupBy(jumps, (jump) => jump.split(" ", 1)[0]).values()].flatMap(([first]) => first ?? []);
}

function leadRule({ range, called }: Naming): string {
  const family = ip(familyOf(range));
  return `${family} daddr ${called} dnat ${family} prefix to ${range}`;
}

function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined;
}

function fits({ range, called }: Naming): boolean {
  const [place, word] = [parseCidr(range), parseCidr(called)];
  return place !== undefined && word !== undefined && place.family === word.family && place.length === word.length;
}

const ip = (family: Family) => (family === 4 ? "ip" : "ip6");
