import { BlockList, isIP } from "node:net";
import type { Environment } from "@marcbachmann/cel-js";

class CelIp {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

class CelCidr {
  readonly ip: string;
  readonly length: number;
  constructor(ip: string, length: number) {
    this.ip = ip;
    this.length = length;
  }
}

const IP = "net.IP";
const CIDR = "net.CIDR";
const familyOf = (ip: string) => (isIP(ip) === 6 ? "ipv6" : "ipv4");

/** Addresses and ranges: `ip("10.0.0.1")`, `cidr("10.0.0.0/8")`. */
export function registerAddresses(environment: Environment): void {
  environment
    .registerType(IP, { ctor: CelIp, fields: {} })
    .registerType(CIDR, { ctor: CelCidr, fields: {} })
    .registerFunction("isIP(string): bool", (text: string) => isIP(text) !== 0)
    .registerFunction(`ip(string): ${IP}`, (text: string) => {
      if (isIP(text) === 0)
        throw new Error(
          `IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): unable to parse IP`,
        );
      return new CelIp(text);
    })
    .registerFunction(`${IP}.family(): int`, ({ text }: CelIp) => BigInt(isIP(text)))
    .registerFunction(`${IP}.isLoopback(): bool`, ({ text }: CelIp) => text === "::1" || text.startsWith("127."))
    .registerFunction(`${IP}.isUnspecified(): bool`, ({ text }: CelIp) => text === "::" || text === "0.0.0.0")
    .registerFunction(`string(${IP}): string`, ({ text }: CelIp) => text)
    .registerFunction("isCIDR(string): bool", (text: string) => parseCidr(text) !== undefined)
    .registerFunction(`cidr(string): ${CIDR}`, (text: string) => {
      const cidr = parseCidr(text);
      if (cidr === undefined)
        throw new Error(`network address parse error during conversion from string: netip.ParsePrefix("${text}")`);
      return cidr;
    })
    .registerFunction(`${CIDR}.containsIP(string): bool`, (cidr: CelCidr, text: string) => contains(cidr, text))
    .registerFunction(`${CIDR}.containsIP(${IP}): bool`, (cidr: CelCidr, { text }: CelIp) => contains(cidr, text))
    .registerFunction(`${CIDR}.containsCIDR(string): bool`, (cidr: CelCidr, text: string) => {
      const other = parseCidr(text);
      return other !== undefined && other.length >= cidr.length && contains(cidr, other.ip);
    })
    .registerFunction(`${CIDR}.prefixLength(): int`, ({ length }: CelCidr) => BigInt(length))
    .registerFunction(`${CIDR}.ip(): ${IP}`, ({ ip }: CelCidr) => new CelIp(ip));
}

function parseCidr(text: string): CelCidr | undefined {
  const [ip = "", bits = ""] = text.split("/");
  const most = isIP(ip) === 6 ? 128 : 32;
  if (isIP(ip) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) return undefined;
  return new CelCidr(ip, Number(bits));
}

function contains({ ip, length }: CelCidr, other: string): boolean {
  if (isIP(other) !== isIP(ip)) return false;
  const list = new BlockList();
  list.addSubnet(ip, length, familyOf(ip));
  return list.check(other, familyOf(other));
}
