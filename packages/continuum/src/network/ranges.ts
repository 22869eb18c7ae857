import { bitsOf, contains, formatRange, hostMask, type IpRange, isAddress, parseRange } from "./ip-range.ts";

/** Undefined for what is no single address, and for IPv4 in the words of IPv6. */
export function parseAddress(text: string): IpRange | undefined {
  const address = text.includes("/") ? undefined : parseRange(text);
  return address?.family === 6 && address.first >> 32n === 0xffffn ? undefined : address;
}

/** A range in which bits behind the prefix are taken for 0, as Kubernetes does. Undefined for what has no prefix. */
export function parseCidr(text: string): IpRange | undefined {
  const [address = "", prefix = ""] = text.split("/");
  const found = parseAddress(address);
  if (found === undefined || text !== `${address}/${prefix}` || !/^(0|[1-9]\d{0,2})$/.test(prefix)) return undefined;
  const { family, first } = found;
  const length = Number(prefix);
  return length > bitsOf(family) ? undefined : { family, first: first & ~hostMask(family, length), length };
}

/** Those of the texts that are ranges. */
export function parseCidrs(texts: readonly string[]): IpRange[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}

/** As short as it can be, and always with its prefix. */
export function formatCidr(range: IpRange): string {
  return isAddress(range) ? `${formatRange(range)}/${range.length}` : formatRange(range);
}

export function sizeOf({ family, length }: Pick<IpRange, "family" | "length">): bigint {
  return hostMask(family, length) + 1n;
}

/** The address at the same place in another range of the same size. */
export function move(address: IpRange, from: IpRange, to: IpRange): IpRange {
  return { ...address, first: to.first + (address.first - from.first) };
}

/** The fewest ranges that have the same addresses, in order. */
export function summarise(ranges: readonly IpRange[]): IpRange[] {
  const merged: IpRange[] = [];
  for (const range of [...ranges].sort(inOrder)) {
    const last = merged.at(-1);
    if (last !== undefined && contains(last, range)) continue;
    merged.push(range);
    while (mergeLast(merged));
  }
  return merged;
}

/** The widest first where two begin at the same address. */
function inOrder(one: IpRange, other: IpRange): number {
  if (one.family !== other.family) return one.family - other.family;
  if (one.first !== other.first) return one.first < other.first ? -1 : 1;
  return one.length - other.length;
}

/** Puts the last two together where they are the halves of one. */
function mergeLast(ranges: IpRange[]): boolean {
  const [left, right] = ranges.slice(-2);
  if (left === undefined || right === undefined || left.family !== right.family || left.length !== right.length)
    return false;
  const whole: IpRange = { ...left, length: left.length - 1 };
  if (left.length === 0 || left.first % sizeOf(whole) !== 0n || left.first + sizeOf(left) !== right.first) return false;
  ranges.splice(-2, 2, whole);
  return true;
}
