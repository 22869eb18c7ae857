import { isIPv6 } from "node:net";
import type { Environment } from "@marcbachmann/cel-js";
import { formatIp, type IpAddress, inRange, parseIp, parseRange } from "../kinds/values/ip-address.ts";
import { registerNamespace } from "./namespace.ts";

class CelIp {
  readonly ip: IpAddress;
  constructor(ip: IpAddress) {
    this.ip = ip;
  }
  get text(): string {
    return formatIp(this.ip);
  }
  valueOf(): string {
    return this.text;
  }
}

/** Bits beyond the prefix stay as they were written. */
class CelCidr {
  readonly ip: IpAddress;
  readonly length: number;
  constructor(ip: IpAddress, length: number) {
    this.ip = ip;
    this.length = length;
  }
  get text(): string {
    return `${formatIp(this.ip)}/${this.length}`;
  }
  valueOf(): string {
    return this.text;
  }
}

const IP = "net.IP";
const CIDR = "net.CIDR";

/** Addresses and ranges: `ip("10.0.0.1")`, `cidr("10.0.0.0/8")`. */
export function registerAddresses(environment: Environment): void {
  environment
    .registerType(IP, { ctor: CelIp, fields: {} })
    .registerType(CIDR, { ctor: CelCidr, fields: {} })
    .registerFunction("isIP(string): bool", (text: string) => readIp(text) !== undefined)
    .registerFunction(`ip(string): ${IP}`, ipOf)
    .registerFunction(`${IP}.family(): int`, ({ ip }: CelIp) => (ip.family === "IPv4" ? 4n : 6n))
    .registerFunction(`${IP}.isUnspecified(): bool`, ({ ip }: CelIp) => ip.value === 0n)
    .registerFunction(`${IP}.isLoopback(): bool`, ({ ip }: CelIp) => isWithin(ip, loopback))
    .registerFunction(`${IP}.isLinkLocalMulticast(): bool`, ({ ip }: CelIp) => isLinkLocalMulticast(ip))
    .registerFunction(`${IP}.isLinkLocalUnicast(): bool`, ({ ip }: CelIp) => isWithin(ip, linkLocal))
    .registerFunction(`${IP}.isGlobalUnicast(): bool`, ({ ip }: CelIp) => isGlobalUnicast(ip))
    .registerFunction(`string(${IP}): string`, ({ text }: CelIp) => text)
    .registerOperator(`${IP} == ${IP}`, (a: CelIp, b: CelIp) => a.text === b.text)
    .registerFunction("isCIDR(string): bool", (text: string) => readCidr(text) !== undefined)
    .registerFunction(`cidr(string): ${CIDR}`, cidrOf)
    .registerFunction(`${CIDR}.containsIP(string): bool`, (cidr: CelCidr, text: string) => contains(cidr, ipOf(text)))
    .registerFunction(`${CIDR}.containsIP(${IP}): bool`, contains)
    .registerFunction(`${CIDR}.containsCIDR(string): bool`, (cidr: CelCidr, text: string) =>
      containsCidr(cidr, cidrOf(text)),
    )
    .registerFunction(`${CIDR}.containsCIDR(${CIDR}): bool`, containsCidr)
    .registerFunction(`${CIDR}.prefixLength(): int`, ({ length }: CelCidr) => BigInt(length))
    .registerFunction(`${CIDR}.masked(): ${CIDR}`, masked)
    .registerFunction(`${CIDR}.ip(): ${IP}`, ({ ip }: CelCidr) => new CelIp(ip))
    .registerFunction(`string(${CIDR}): string`, ({ text }: CelCidr) => text)
    .registerOperator(`${CIDR} == ${CIDR}`, (a: CelCidr, b: CelCidr) => a.text === b.text);
  registerNamespace(environment, "ip", { "isCanonical(string): bool": (text: string) => ipOf(text).text === text });
}

const rangesOf = (...texts: string[]) => texts.flatMap((text) => parseRange(text) ?? []);
const loopback = rangesOf("127.0.0.0/8", "::1/128");
const linkLocal = rangesOf("169.254.0.0/16", "fe80::/10");
const linkLocalMulticast4 = rangesOf("224.0.0.0/24");
const multicast = rangesOf("224.0.0.0/4", "ff00::/8");
const mapped = rangesOf("::ffff:0:0/96");

const isWithin = (ip: IpAddress, ranges: typeof loopback) => ranges.some((range) => inRange(ip, range));

/** Of IPv6, by its scope alone, whatever its flags are. */
function isLinkLocalMulticast(ip: IpAddress): boolean {
  return ip.family === "IPv4"
    ? isWithin(ip, linkLocalMulticast4)
    : ip.value >> 120n === 0xffn && ((ip.value >> 112n) & 0xfn) === 2n;
}

function isGlobalUnicast(ip: IpAddress): boolean {
  const isBroadcast = ip.family === "IPv4" && ip.value === 0xffff_ffffn;
  return ip.value !== 0n && !isBroadcast && ![loopback, multicast, linkLocal].some((ranges) => isWithin(ip, ranges));
}

/** Addresses of IPv4 in IPv6's clothes are none. */
function readIp(text: string): IpAddress | undefined {
  const ip = parseIp(text);
  return ip === undefined || isWithin(ip, mapped) ? undefined : ip;
}

function readCidr(text: string): CelCidr | undefined {
  const cidr = parseCidr(text);
  return typeof cidr === "string" || isWithin(cidr.ip, mapped) ? undefined : cidr;
}

/** The range, or what is wrong with it, as Go words it. */
function parseCidr(text: string): CelCidr | string {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return "no '/'";
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)];
  const ip = parseIp(address);
  if (ip === undefined) return `ParseAddr(${JSON.stringify(address)}): unable to parse IP`;
  if (!/^(0|[1-9]\d{0,2})$/.test(bits)) return `bad bits after slash: ${JSON.stringify(bits)}`;
  if (Number(bits) > (ip.family === "IPv4" ? 32 : 128)) return "prefix length out of range";
  return new CelCidr(ip, Number(bits));
}

function ipOf(text: string): CelIp {
  const ip = readIp(text);
  if (ip !== undefined) return new CelIp(ip);
  const quoted = JSON.stringify(text);
  if (parseIp(text) !== undefined) throw new Error(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  if (isIPv6(text)) throw new Error(`IP address ${quoted} with zone value is not allowed`);
  throw new Error(
    `IP Address ${quoted} parse error during conversion from string: ParseAddr(${quoted}): unable to parse IP`,
  );
}

function cidrOf(text: string): CelCidr {
  const cidr = parseCidr(text);
  const quoted = JSON.stringify(text);
  const failed = "network address parse error during conversion from string:";
  // Said twice there, too.
  if (typeof cidr === "string") throw new Error(`${failed} ${failed} netip.ParsePrefix(${quoted}): ${cidr}`);
  if (isWithin(cidr.ip, mapped)) throw new Error(`${failed} IPv4-mapped IPv6 address ${quoted} is not allowed`);
  return cidr;
}

function masked({ ip, length }: CelCidr): CelCidr {
  const beyond = BigInt((ip.family === "IPv4" ? 32 : 128) - length);
  return new CelCidr({ family: ip.family, value: (ip.value >> beyond) << beyond }, length);
}

function contains(cidr: CelCidr, { ip }: CelIp): boolean {
  return masked(new CelCidr(ip, cidr.length)).text === masked(cidr).text && ip.family === cidr.ip.family;
}

function containsCidr(cidr: CelCidr, other: CelCidr): boolean {
  return other.length >= cidr.length && contains(cidr, new CelIp(other.ip));
}
