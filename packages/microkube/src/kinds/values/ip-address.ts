import { isIPv4, isIPv6 } from "node:net";
import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";

export type IpFamily = "IPv4" | "IPv6";

export interface IpAddress {
  readonly family: IpFamily;
  readonly value: bigint;
}

export interface IpRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly prefix: number;
  readonly size: bigint;
}

const bitsOf = (family: IpFamily): number => (family === "IPv4" ? 32 : 128);

/** Reads `10.0.0.1` and `2001:db8::1`; undefined for what is no address. */
export function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) return { family: "IPv4", value: parseV4(text) };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  return { family: "IPv6", value: parseV6(text) };
}

function parseV4(text: string): bigint {
  return text.split(".").reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function parseV6(text: string): bigint {
  const tail = text.lastIndexOf(":") + 1;
  const hex = text.slice(tail).includes(".") ? text.slice(0, tail) + v4Groups(text.slice(tail)) : text;
  const [head = "", rest] = hex.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const before = groups(head);
  const after = rest === undefined ? [] : groups(rest);
  const zeros = new Array<string>(8 - before.length - after.length).fill("0");
  const all = rest === undefined ? before : [...before, ...zeros, ...after];
  return all.reduce((value, group) => value * 65536n + BigInt(`0x${group}`), 0n);
}

function v4Groups(text: string): string {
  const value = parseV4(text);
  return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

/** The one text of an address (RFC 5952). */
export function formatIp({ family, value }: IpAddress): string {
  if (family === "IPv4") return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  const { at, length } = longestZeros(groups);
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, at).join(":")}::${groups.slice(at + length).join(":")}`;
}

function longestZeros(groups: readonly string[]): { at: number; length: number } {
  let best = { at: 0, length: 0 };
  for (let at = 0; at < groups.length; at++) {
    let length = 0;
    while (groups[at + length] === "0") length++;
    if (length > best.length) best = { at, length };
  }
  return best;
}

/** Reads `10.96.0.0/12`; the bits beyond the prefix are dropped. */
export function parseRange(text: string): IpRange | undefined {
  const slash = text.indexOf("/");
  const address = parseIp(text.slice(0, slash));
  const digits = text.slice(slash + 1);
  if (slash < 0 || address === undefined || !/^\d{1,3}$/.test(digits)) return undefined;
  const prefix = Number(digits);
  const bits = bitsOf(address.family);
  if (prefix > bits) return undefined;
  const size = 1n << BigInt(bits - prefix);
  return { family: address.family, first: address.value - (address.value % size), prefix, size };
}

export const formatRange = ({ family, first, prefix }: IpRange): string =>
  `${formatIp({ family, value: first })}/${prefix}`;

export function inRange({ family, value }: IpAddress, range: IpRange): boolean {
  return family === range.family && value >= range.first && value < range.first + range.size;
}

const ipText = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const cidrText = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const mapped = (value: bigint): boolean => value >> 32n === 0xffffn;

/** An address as Kubernetes takes it in fields old and new. */
export function validateIp(text: string | undefined, path: string): FieldError[] {
  const address = parseIp(text ?? "");
  if (address === undefined) {
    const isSloppy = parseIp(withoutLeadingZeros(text ?? "")) !== undefined;
    return [invalidField(path, text ?? "", isSloppy ? "must not have leading 0s" : ipText)];
  }
  if (address.family === "IPv6" && mapped(address.value)) {
    return [invalidField(path, text, "must not be an IPv4-mapped IPv6 address")];
  }
  return [];
}

const withoutLeadingZeros = (text: string): string => text.replace(/(^|\.)0+(?=\d)/g, "$1");

export function validateCidr(text: string | undefined, path: string): FieldError[] {
  const value = text ?? "";
  const range = parseRange(value);
  if (range === undefined) {
    const isSloppy = parseRange(withoutLeadingZeros(value)) !== undefined;
    return [invalidField(path, value, isSloppy ? "must not have leading 0s in IP or prefix length" : cidrText)];
  }
  if (range.family === "IPv6" && range.prefix > 96 && mapped(range.first)) {
    return [invalidField(path, value, "must not have an IPv4-mapped IPv6 address")];
  }
  const address = parseIp(value.slice(0, value.indexOf("/")));
  if (address?.value === range.first) return [];
  return [invalidField(path, value, "must not have bits set beyond the prefix length")];
}

/** What holds for endpoints of a cluster. */
export interface EndpointRules {
  /** Whether its pods and Services are all on loopback, as those of a machine without privileges are. */
  readonly onLoopback: boolean;
}

const loopback = { IPv4: parseRange("127.0.0.0/8"), IPv6: parseRange("::1/128") };
const linkLocal = { IPv4: parseRange("169.254.0.0/16"), IPv6: parseRange("fe80::/10") };
const multicast = { IPv4: parseRange("224.0.0.0/24"), IPv6: parseRange("ff02::/16") };

/** An address that endpoints can have: not the node's own, none that means many. */
export function validateEndpointIp(
  text: string,
  path: string,
  { onLoopback }: EndpointRules = { onLoopback: false },
): FieldError[] {
  const address = parseIp(text);
  if (address === undefined) return [invalidField(path, text, "must be a valid IP address")];
  const within = (range: IpRange | undefined) => range !== undefined && inRange(address, range);
  const errors: FieldError[] = [];
  if (address.value === 0n) errors.push(invalidField(path, text, `may not be unspecified (${formatIp(address)})`));
  if (!onLoopback && (within(loopback.IPv4) || within(loopback.IPv6))) {
    errors.push(invalidField(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
  }
  if (within(linkLocal.IPv4) || within(linkLocal.IPv6)) {
    errors.push(invalidField(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
  }
  if (within(multicast.IPv4) || within(multicast.IPv6)) {
    errors.push(invalidField(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
  }
  return errors;
}
