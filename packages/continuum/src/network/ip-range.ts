import { isIPv4, isIPv6 } from "node:net";

export type Family = 4 | 6;

/** A range of addresses by prefix; a single address is a range of full length. */
export interface IpRange {
  readonly family: Family;
  /** The first address as a number; no bit behind the prefix is set. */
  readonly first: bigint;
  readonly length: number;
}

export const bitsOf = (family: Family): number => (family === 4 ? 32 : 128);

/** Reads `10.42.0.0/16`, `fd00::/48` or one address. Undefined where it is none, or has bits behind its prefix. */
export function parseRange(text: string): IpRange | undefined {
  const [address = "", length, ...more] = text.split("/");
  const family = isIPv4(address) ? 4 : isIPv6(address) && !address.includes("%") ? 6 : undefined;
  if (family === undefined || more.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return undefined;
  const bits = bitsOf(family);
  const prefix = length === undefined ? bits : Number(length);
  if (prefix > bits) return undefined;
  const first = family === 4 ? number4(address) : number6(address);
  return (first & hostMask(family, prefix)) === 0n ? { family, first, length: prefix } : undefined;
}

/** `10.42.0.0/16`; a single address without its length. */
export function formatRange(range: IpRange): string {
  const address = formatAddress(range.family, range.first);
  return range.length === bitsOf(range.family) ? address : `${address}/${range.length}`;
}

export function isAddress(range: IpRange): boolean {
  return range.length === bitsOf(range.family);
}

export function lastOf(range: IpRange): bigint {
  return range.first | hostMask(range.family, range.length);
}

export function overlaps(a: IpRange, b: IpRange): boolean {
  return a.family === b.family && a.first <= lastOf(b) && b.first <= lastOf(a);
}

export function contains(outer: IpRange, inner: IpRange): boolean {
  return outer.family === inner.family && outer.first <= inner.first && lastOf(inner) <= lastOf(outer);
}

/** The bits behind a prefix. */
export function hostMask(family: Family, length: number): bigint {
  return (1n << BigInt(bitsOf(family) - length)) - 1n;
}

export function formatAddress(family: Family, value: bigint): string {
  return family === 4 ? format4(value) : format6(value);
}

function number4(text: string): bigint {
  return text.split(".").reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function number6(text: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const hex = dotted === null ? text : `${dotted[1]}${groups4(dotted[2] ?? "")}`;
  const [head = "", tail] = hex.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].reduce((value, part) => value * 65_536n + BigInt(`0x${part}`), 0n);
}

/** The last four bytes of an IPv6 address, where they are written as in IPv4. */
function groups4(text: string): string {
  const value = number4(text);
  return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

function format4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
}

/** As RFC 5952 has it: lower case, the longest run of zeros left out, the first of them where several are. */
function format6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(112 - 16 * i)) & 0xffffn));
  let best = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const text = (some: readonly number[]) => some.map((group) => group.toString(16)).join(":");
  if (best.length === 1) return text(groups);
  return `${text(groups.slice(0, best.start))}::${text(groups.slice(best.start + best.length))}`;
}

/** `255.255.0.0`. */
export function netmask(family: Family, length: number): string {
  return formatAddress(family, hostMask(family, 0) ^ hostMask(family, length));
}
