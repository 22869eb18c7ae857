import { Link, newObject } from "@fjord/api";
import type { Group } from "./network-state.ts";

const SITE = "z".repeat(26);

/** The longest texts that addresses have, each another one. */
export function longAddresses(count: number, from = 0): string[] {
  const place = (each: number) => `${(0x1000 + (each >> 12)).toString(16)}:${(0x1000 + (each & 0xfff)).toString(16)}`;
  return Array.from({ length: count }, (_, index) => `fd66:6a6f:1000:1000:1000:1000:${place(from + index)}`);
}

/** Of namespaces with the longest names. */
export function longGroups(prefix: string, count: number, local: string[], remote: string[]): Group[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${prefix}-${String(index).padStart(5, "0")}-`.padEnd(63, "x"),
    local,
    remote,
  }));
}

/** Ids have no digits 0 and 1. */
const idLetter = (digit: string) => (digit === "0" ? "a" : "b");

/** All that a Link may have beside its groups, as much as the schema takes; guests as many as one likes. */
export function longLink(groups: readonly Group[], guests: number): Link {
  const endpoints = Array.from({ length: 8 }, (_, index) => `${index}${"h".repeat(255)}:51820`);
  const spec: Link["spec"] = {
    site: SITE,
    publicKey: `${"k".repeat(43)}=`,
    nextKey: `${"n".repeat(43)}=`,
    endpoints,
    lanes: Array.from({ length: 7 }, () => ({ endpoints })),
    fallback: { site: "h".repeat(26), endpoint: endpoints[0] ?? "", seenAt: endpoints[1] ?? "" },
    relayTo: Array.from({ length: 128 }, (_, index) => index.toString(2).padStart(26, "0").replace(/[01]/g, idLetter)),
    tcp: { endpoint: "127.0.0.1:10001" },
    keepaliveSeconds: 25,
    groups: groups.map(({ name, local, remote }) => ({ name, local: [...local], remote: [...remote] })),
    machines: Array.from({ length: 64 }, (_, index) => `fd00:1000:1000:1000:1000:1000:1000:${0x1000 + index}/128`),
    guests: {
      addresses: longAddresses(guests),
      names: longAddresses(288).map((each) => ({ range: `${each}/128`, called: `${each}/128` })),
    },
  };
  return newObject(Link, { metadata: { name: SITE }, spec });
}
