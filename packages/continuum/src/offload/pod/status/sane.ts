import { BlockList, isIP } from "node:net";

/** Reads what another site says: nothing in it is believed to have the type, the size or the form that it should. */

export { type Fields, fieldsOf } from "../../../fields-of.ts";

/** At most `most` items of a list; nothing of what is none. */
export function listOf(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

/** A text of at most `most` characters, without what no terminal should be sent. */
export function textOf(value: unknown, most: number): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return value
    .slice(0, most)
    .toWellFormed()
    .replace(/(?![\t\n])\p{Cc}/gu, " ");
}

/** One CamelCase word, as reasons are. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?$/.test(value) ? value : undefined;
}

export function countOf(value: unknown, most = 2 ** 31 - 1): number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? Math.min(value, most) : 0;
}

export function integerOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? value : undefined;
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/**
 * A time by the clock of this site, where the one it was said by is `ahead` milliseconds ahead. It is between `earliest` and `latest`,
 * moved into these bounds where it is outside.
 */
export function timeOf(value: unknown, earliest: number, latest: number, ahead = 0): string | undefined {
  if (typeof value !== "string" || !timePattern.test(value)) return undefined;
  const time = Date.parse(value) - ahead;
  if (Number.isNaN(time)) return undefined;
  return dateOf(Math.max(earliest, Math.min(latest, time)));
}

/** A time that home has been told, but none that is yet to come. */
export function notAfter(time: string | undefined, latest: number): string | undefined {
  return time !== undefined && Date.parse(time) > latest ? dateOf(latest) : time;
}

/** As Kubernetes writes times, to the second. */
export function dateOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Two lists: in one, IPv4 in the words of IPv6 would be all of IPv4. */
const special = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [net, prefix] of [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 3],
] as const)
  special.ipv4.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of [
  // Nobody, loopback, and IPv4 in other words.
  ["::", 96],
  ["::ffff:0:0", 96],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  special.ipv6.addSubnet(net, prefix, "ipv6");

/** An address of a pod: none that means everyone or nobody, and none of this machine but those that are allowed there. */
export function addressOf(value: unknown, onLoopback: (address: string) => boolean = () => false): string | undefined {
  if (typeof value !== "string" || isIP(value) === 0 || value.includes("%")) return undefined;
  if (isIP(value) === 4 && value.startsWith("127.")) return onLoopback(value) ? value : undefined;
  // By its bits: an address of IPv6 can be written in many ways.
  const family = isIP(value) === 4 ? "ipv4" : "ipv6";
  return special[family].check(value, family) ? undefined : value;
}
