import type { Link } from "@fjord/api";
import type { SiteId } from "../site-identity.ts";
import { fairShares } from "./fair-shares.ts";
import type { Group } from "./network-state.ts";

type Spec = Link["spec"];

/** What of a Link there was no room for. */
export interface LeftOut {
  /** Whether some of what the two sites themselves are to have. */
  readonly pair: boolean;
  /** Ids of consumers that have introduced the two, some of whose guests are not in it. */
  readonly consumers: readonly SiteId[];
  /** Whether some of the peer's guests are not led by the words of their home. */
  readonly homeWords: boolean;
}

export const NOTHING_LEFT_OUT: LeftOut = { pair: false, consumers: [], homeWords: false };

/**
 * API servers store objects of up to 1.5 MiB, in which are, too, what the gateway says in status and who has written which field. The rest of that is
 * for those.
 */
const MOST_BYTES = 1_400_000;
/** Of all groups, as of the addresses at one side of one, and of guests, by the schema. */
const MOST_GROUPS = 1024;
const MOST_ADDRESSES = 8192;
/** Of a group without its addresses and twice its name: braces, keys, and the same where it says who has written them. */
const GROUP_BYTES = 128;
/** Quotes and a comma. */
const ADDRESS_BYTES = 3;
/** The same twice, as each of a set has a writer. */
const GUEST_BYTES = 24;

/**
 * A Link that can always be stored, with the groups of consumers that have introduced the two. Where that is not all, the two sites' own groups, those of all consumers together, and the peer's guests have a
 * third each, of which each consumer has its part, and whoever needs less leaves it to the others: no consumer takes the link of another by what it says.
 */
export function fitLink(
  link: Spec,
  introduced: ReadonlyMap<SiteId, readonly Group[]>,
): { readonly spec: Spec; readonly left: LeftOut } {
  const { groups: own, guests, ...rest } = link;
  const all = [...introduced.values()].flat();
  const counts = sharesOf({ own: own.length, all: all.length }, MOST_GROUPS);
  const byCount = divide(introduced, counts.all, (groups) => groups.length);
  const ownListed = listed(own, counts.own);
  const allListed = new Map([...introduced].map(([id, groups]) => [id, listed(groups, byCount.get(id) ?? 0)]));

  const addresses = guests?.addresses.slice(0, MOST_ADDRESSES) ?? [];
  // Keys of its lists stand where it says who has written them, too.
  const restBytes = 2 * Buffer.byteLength(JSON.stringify({ ...rest, names: guests?.names }));
  const wanted = {
    own: bytesOf(ownListed),
    all: bytesOf([...allListed.values()].flat()),
    guests: addresses.reduce((sum, each) => sum + guestBytes(each), 0),
  };
  const bytes = sharesOf(wanted, MOST_BYTES - restBytes);
  const byBytes = divide(allListed, bytes.all, bytesOf);
  const kept = cut(ownListed, bytes.own);
  const met = new Map([...allListed].map(([id, groups]) => [id, cut(groups, byBytes.get(id) ?? 0)]));
  const led = within(addresses, bytes.guests, guestBytes);
  return {
    spec: {
      ...rest,
      groups: [...kept, ...[...met.values()].flat().sort((one, other) => (one.name < other.name ? -1 : 1))].map(
        ({ name, local, remote }) => ({ name, local: [...local], remote: [...remote] }),
      ),
      ...(guests && led.length > 0 && { guests: { ...guests, addresses: led } }),
    },
    left: {
      pair: countOf(kept) < countOf(own),
      consumers: [...introduced].flatMap(([id, groups]) => (countOf(met.get(id) ?? []) < countOf(groups) ? id : [])),
      homeWords: led.length < (guests?.addresses.length ?? 0),
    },
  };
}

function sharesOf<Name extends string>(wanted: Readonly<Record<Name, number>>, most: number): Record<Name, number> {
  const shares = fairShares(new Map(Object.entries<number>(wanted)), most);
  return Object.fromEntries(shares) as Record<Name, number>;
}

function divide(
  all: ReadonlyMap<SiteId, readonly Group[]>,
  most: number,
  measure: (groups: readonly Group[]) => number,
): ReadonlyMap<SiteId, number> {
  return fairShares(new Map([...all].map(([id, groups]) => [id, measure(groups)])), most);
}

/** What the schema lets stand. */
function listed(groups: readonly Group[], most: number): Group[] {
  return groups.slice(0, most).map((group) => {
    const { local, remote } = group;
    if (local.length <= MOST_ADDRESSES && remote.length <= MOST_ADDRESSES) return group;
    return { ...group, local: local.slice(0, MOST_ADDRESSES), remote: remote.slice(0, MOST_ADDRESSES) };
  });
}

/** Each group has its share of so many bytes, and each side of it. */
function cut(groups: readonly Group[], most: number): Group[] {
  if (bytesOf(groups) <= most) return [...groups];
  const shares = fairShares(new Map(groups.map((group) => [group.name, bytesOf([group])])), most);
  return groups
    .map((group) => {
      const room = Math.max(0, (shares.get(group.name) ?? 0) - frameBytes(group));
      const sides = sharesOf({ local: sideBytes(group.local), remote: sideBytes(group.remote) }, room);
      const local = within(group.local, sides.local, addressBytes);
      return { ...group, local, remote: within(group.remote, sides.remote, addressBytes) };
    })
    .filter(({ local, remote }) => local.length > 0 && remote.length > 0);
}

/** As many of the first as so many bytes hold. */
function within(addresses: readonly string[], most: number, measure: (address: string) => number): string[] {
  let bytes = 0;
  const end = addresses.findIndex((address) => {
    bytes += measure(address);
    return bytes > most;
  });
  return addresses.slice(0, end === -1 ? undefined : end);
}

function bytesOf(groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + frameBytes(group) + sideBytes(group.local) + sideBytes(group.remote), 0);
}

function frameBytes({ name }: Group): number {
  return GROUP_BYTES + 2 * name.length;
}

function sideBytes(addresses: readonly string[]): number {
  return addresses.reduce((sum, address) => sum + addressBytes(address), 0);
}

function addressBytes(address: string): number {
  return address.length + ADDRESS_BYTES;
}

function guestBytes(address: string): number {
  return 2 * address.length + GUEST_BYTES;
}

function countOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { local, remote }) => sum + local.length + remote.length, 0);
}
