import { contains, type IpRange, parseRange } from "../ip-range.ts";
import type { LinkFallback, Naming, PeerNetwork } from "../network-state.ts";

/** A peer whose values can be what they say: only such ones become rules. */
export interface CheckedPeer {
  readonly siteId: string;
  readonly own: readonly Renaming[];
  /** The peer's ranges, as they are called here. */
  readonly ranges: readonly IpRange[];
  /** Hexadecimal, as WireGuard's own interface wants it. */
  readonly publicKey: string;
  /** The one that it is about to use. */
  readonly nextKey?: string;
  readonly endpoints: readonly string[];
  /** By lane, where it listens: `endpoints` for the first one. */
  readonly lanes: readonly (readonly string[])[];
  /** Lanes by which it does not answer. */
  readonly silent: readonly number[];
  readonly keepaliveSeconds: number;
  readonly groups: readonly CheckedGroup[];
  /** The largest packet that reaches it, where that is known. */
  readonly mtu?: number;
  /** The hub that leads to it. */
  readonly via?: string;
  /** The hub that leads to it where it is not met, and its endpoint there. */
  readonly fallback?: LinkFallback;
  /** Where the own agent takes packets for it. */
  readonly tcp?: string;
  /** Other peers that it may reach through here. */
  readonly relayTo: readonly string[];
}

export interface Renaming {
  readonly range: IpRange;
  readonly called: IpRange;
}

export interface CheckedGroup {
  readonly name: string;
  readonly local: readonly IpRange[];
  readonly remote: readonly IpRange[];
}

/** The peer's values where this site has so many lanes, or what is wrong with them. */
export function checkPeer(peer: PeerNetwork, lanes = 1): CheckedPeer | { readonly fault: string } {
  try {
    return checked(peer, lanes);
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message };
    throw error;
  }
}

class Fault extends Error {}

function checked(peer: PeerNetwork, most: number): CheckedPeer {
  const { via, fallback, tcp, nextKey } = peer.link;
  const relayTo = peer.relayTo ?? [];
  for (const id of [peer.siteId, ...(via === undefined ? [] : [via]), ...(fallback ? [fallback.via] : []), ...relayTo])
    if (!/^[a-z0-9]{1,63}$/.test(id)) throw new Fault(`${JSON.stringify(id)} is not the id of a site`);
  const ranges = peer.peer.map((naming) => renaming(naming).called);
  if (ranges.some(({ length }) => length === 0)) throw new Fault("its range would be everything");
  const { mtu } = peer;
  if (mtu !== undefined && (!Number.isInteger(mtu) || mtu < 576)) throw new Fault(`packets cannot be of ${mtu} bytes`);
  const { keepaliveSeconds = 0 } = peer.link;
  if (!Number.isInteger(keepaliveSeconds) || keepaliveSeconds < 0 || keepaliveSeconds > 65_535)
    throw new Fault(`${keepaliveSeconds} is no number of seconds to keep a link alive by`);
  const endpoints = peer.link.endpoints.map(endpointOf);
  // What a hub leads to is its first lane alone.
  const more = via === undefined ? (peer.link.lanes ?? sideBySide(endpoints, most)).slice(0, most - 1) : [];
  return {
    siteId: peer.siteId,
    own: peer.own.map(renaming),
    ranges,
    publicKey: keyOf(peer.link.publicKey),
    ...(nextKey !== undefined && { nextKey: keyOf(nextKey) }),
    endpoints,
    lanes: [endpoints, ...more.map((lane) => lane.map(endpointOf))],
    silent: (peer.link.silent ?? []).filter((lane) => Number.isInteger(lane)),
    keepaliveSeconds,
    ...(mtu !== undefined && { mtu }),
    ...(via !== undefined && { via }),
    ...(fallback && { fallback: fallbackOf(fallback) }),
    ...(tcp !== undefined && { tcp: endpointOf(tcp) }),
    relayTo,
    groups: peer.groups.map(({ name, local, remote }) => ({
      name,
      local: local.map(rangeOf),
      remote: remote.map((text) => {
        const range = rangeOf(text);
        // What is not the peer's would be let in from others, and sent to others, in its name.
        if (ranges.some((whole) => contains(whole, range))) return range;
        throw new Fault(`${text} of group ${JSON.stringify(name)} is outside of what the peer is called here`);
      }),
    })),
  };
}

function renaming({ range, called }: Naming): Renaming {
  const both = { range: rangeOf(range), called: rangeOf(called) };
  if (both.range.family !== both.called.family || both.range.length !== both.called.length)
    throw new Fault(`${range} cannot be called ${called}: they are not of one size`);
  return both;
}

function rangeOf(text: string): IpRange {
  const range = parseRange(text);
  if (range === undefined) throw new Fault(`${JSON.stringify(text)} is not a range of addresses`);
  return range;
}

function keyOf(text: string): string {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== 32 || bytes.toString("base64") !== text)
    throw new Fault(`${JSON.stringify(text)} is not a public key of WireGuard`);
  return bytes.toString("hex");
}

function fallbackOf({ via, endpoint, seenAt }: LinkFallback): LinkFallback {
  return { via, endpoint: endpointOf(endpoint), ...(seenAt !== undefined && { seenAt: endpointOf(seenAt) }) };
}

/** The endpoint of a lane beside the first one's; undefined where there is no such port. */
export function nthPort(endpoint: string, lane: number): string | undefined {
  const at = endpoint.lastIndexOf(":");
  const port = Number(endpoint.slice(at + 1)) + lane;
  return port > 65_535 ? undefined : `${endpoint.slice(0, at)}:${port}`;
}

function endpointOf(text: string): string {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?):(\d{1,5})$/i.exec(text);
  if (match === null || Number(match[3]) > 65_535 || Number(match[3]) === 0)
    throw new Fault(`${JSON.stringify(text)} is not HOST:PORT`);
  return text;
}

/** For each lane beyond the first: lanes of one gateway have ports side by side. */
function sideBySide(endpoints: readonly string[], lanes: number): string[][] {
  return Array.from({ length: lanes - 1 }, (_, i) => endpoints.flatMap((each) => nthPort(each, i + 1) ?? []));
}
