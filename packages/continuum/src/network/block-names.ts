import type { AddressPlan } from "@fjord/api";
import type { AddressBlock } from "../addresses.ts";
import { contains, type IpRange } from "./ip-range.ts";
import { formatCidr, move, parseCidr, parseCidrs } from "./ranges.ts";

type PlanSpec = AddressPlan["spec"];

/** That mean another machine at each site. */
const LOCAL = parseCidrs([
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "240.0.0.0/4",
  "fc00::/7",
  "fe80::/10",
]);

/**
 * What a block of addresses, as this site's are, is at the peer: pods of either site by what they are called there, and what is
 * the same everywhere. Other addresses of this site are somebody else's there, and left out. Nothing that was excepted gets in.
 */
export function blocksThere(plan: PlanSpec, { cidr, except = [] }: AddressBlock): AddressBlock[] {
  const block = parseCidr(cidr);
  if (block === undefined) return [];
  const names = namesThere(plan);
  const excepted = parseCidrs(except);
  const isLocal = [...LOCAL, ...names.map(({ here }) => here)].some((range) => contains(range, block));
  const kept = isLocal ? [] : [block];
  const named = partsOf(names, block).filter((part) => !kept.some((range) => contains(range, part)));
  return [
    ...kept.flatMap((range) => without(range, [...excepted, ...excepted.flatMap((each) => partsOf(names, each))])),
    ...named.flatMap((range) =>
      without(
        range,
        excepted.flatMap((each) => partsOf(names, each)),
      ),
    ),
  ];
}

interface NamedThere {
  readonly here: IpRange;
  readonly there: IpRange;
}

/** Own pods by what they are called there, and the peer's, as they are called here, by what they are. */
function namesThere({ own, peer }: PlanSpec): NamedThere[] {
  const pairs = [
    ...own.map(({ range, called }) => [range, called]),
    ...peer.map(({ range, called }) => [called, range]),
  ];
  return pairs.flatMap(([from = "", to = ""]) => {
    const [here, there] = [parseCidr(from), parseCidr(to)];
    return here === undefined || there === undefined || here.length !== there.length ? [] : [{ here, there }];
  });
}

function partsOf(names: readonly NamedThere[], range: IpRange): IpRange[] {
  return names.flatMap(({ here, there }) => {
    if (contains(range, here)) return [there];
    return contains(here, range) ? [move(range, here, there)] : [];
  });
}

function without(range: IpRange, excepted: readonly IpRange[]): AddressBlock[] {
  if (excepted.some((each) => contains(each, range))) return [];
  const except = [...new Set(excepted.filter((each) => contains(range, each)).map(formatCidr))].sort();
  return [{ cidr: formatCidr(range), ...(except.length > 0 && { except }) }];
}
