import { contains, type IpRange, overlaps } from "./ip-range.ts";
import { EXPORT_RANGES, LINK_RANGES, RELAY_RANGE } from "./link-address.ts";
import { parseCidrs, sizeOf } from "./ranges.ts";

/** Where pods may be by their real addresses: a peer that names others would have the own pods talk to it instead. */
const PRIVATE = parseCidrs(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"]);
/** That mean the own machine, its neighbours, everyone or nobody; and gateways themselves. */
export const SPECIAL: readonly IpRange[] = [
  ...LINK_RANGES,
  RELAY_RANGE,
  ...parseCidrs([
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/96",
    "fe80::/10",
    "ff00::/8",
  ]),
];

/** What no peer's range may be called. Its real ones may be those of exports, which every site has. */
const UNCALLABLE: readonly IpRange[] = [...SPECIAL, ...Object.values(EXPORT_RANGES)];

/** What of a peer's is called what here; absent where nothing of that size is left. */
export interface NamedRange {
  readonly range: IpRange;
  readonly called?: IpRange;
}

export interface NameWishes {
  /** The peer's ranges. */
  readonly ranges: readonly IpRange[];
  /** What was chosen before: it is kept as long as it overlaps with nothing. */
  readonly before: readonly NamedRange[];
  /** What no peer's range may be called: the own ranges, and what other peers' are called. */
  readonly taken: readonly IpRange[];
  /** What should not be a name, and may be where nothing else is left: it is a word for something else elsewhere. @default nothing */
  readonly unwelcome?: readonly IpRange[];
  /** Where names come from that cannot be the real ranges. */
  readonly pools: readonly IpRange[];
  /** What nothing may be called, whoever asks. @default addresses that mean machines, not pods */
  readonly special?: readonly IpRange[];
  /** Whether names come from pools alone: nobody here has met who claims these ranges. @default false */
  readonly fromPools?: boolean;
}

/** What to call a peer's ranges. What is kept comes first, so that no new range takes the name of an old one. */
export function chooseNames(wishes: NameWishes): NamedRange[] {
  const { ranges, before, taken, unwelcome = [], pools, special = UNCALLABLE, fromPools } = wishes;
  const used: IpRange[] = [];
  const names = new Map<IpRange, IpRange>();
  const isFree = (called: IpRange) => ![...special, ...taken, ...used].some((each) => overlaps(each, called));
  const give = (range: IpRange, called: IpRange | undefined) => {
    if (called === undefined || !sameSize(range, called) || !isFree(called)) return;
    names.set(range, called);
    used.push(called);
  };
  for (const range of ranges) give(range, before.find((each) => sameRange(each.range, range))?.called);
  if (!fromPools) for (const range of ranges) if (!names.has(range) && isPrivate(range)) give(range, range);
  const free = new InOrder([...special, ...taken]);
  const welcome = new InOrder([...special, ...taken, ...unwelcome]);
  // The largest first, as a small one may stand in the way of all places of a large one.
  for (const range of [...ranges].sort((one, other) => one.length - other.length))
    if (!names.has(range)) {
      give(range, freePlace(range, pools, welcome.with(used)) ?? freePlace(range, pools, free.with(used)));
    }
  return ranges.map((range) => ({ range, ...(names.has(range) && { called: names.get(range) as IpRange }) }));
}

/** Ranges that are put in order when that is first asked for: peers choose how many they are. */
class InOrder {
  readonly #ranges: readonly IpRange[];
  #ordered: readonly IpRange[] | undefined;

  constructor(ranges: readonly IpRange[]) {
    this.#ranges = ranges;
  }

  /** With a few others. */
  with(others: readonly IpRange[]): readonly IpRange[] {
    this.#ordered ??= this.#ranges.toSorted(byFirst);
    // What is in order already is not compared again and again.
    return [...this.#ordered, ...others].sort(byFirst);
  }
}

function byFirst(one: IpRange, other: IpRange): number {
  return one.first < other.first ? -1 : one.first > other.first ? 1 : 0;
}

/** The first range of the size of `range` in a pool that overlaps with nothing that is used, of which each is looked at once: `used` is in order. */
function freePlace(
  { family, length }: IpRange,
  pools: readonly IpRange[],
  used: readonly IpRange[],
): IpRange | undefined {
  const size = sizeOf({ family, length });
  const hindrances = used.filter((each) => each.family === family);
  for (const pool of pools) {
    if (pool.family !== family || pool.length > length) continue;
    let { first } = pool;
    for (const hindrance of hindrances) {
      if (hindrance.first >= first + size) break;
      // The next place of this size that begins where the hindrance has ended.
      const past = hindrance.first + sizeOf(hindrance) - first;
      if (past > 0n) first += ((past + size - 1n) / size) * size;
    }
    if (first + size <= pool.first + sizeOf(pool)) return { family, first, length };
  }
  return undefined;
}

function isPrivate(range: IpRange): boolean {
  return PRIVATE.some((each) => contains(each, range));
}

export function sameRange(one: IpRange, other: IpRange): boolean {
  return one.family === other.family && one.first === other.first && one.length === other.length;
}

export function sameSize(one: IpRange, other: IpRange): boolean {
  return one.family === other.family && one.length === other.length;
}
