import type { Link } from "@fjord/api";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { relayAddress } from "./link-address.ts";
import type { Group, HomeWords } from "./network-state.ts";
import type { OwnNetwork } from "./own-network.ts";

/** How a peer's gateway is reached, by its word. */
export type LinkPath = Pick<Link["spec"], "publicKey" | "nextKey" | "endpoints" | "lanes" | "via" | "fallback">;

/**
 * By the peer's facts: as it says, or through a hub. `asked` is the hub that this site's owner has named: then the peer must have agreed to
 * the same one. Where this site has named none, the peer's word is enough, as a hub that has no link here leads nowhere. Where neither has named one, they meet
 * directly, and else through one of `hubs`, which say that they lead there, where the peer knows of the same; `seenAt` is where such a one hears of the peer.
 */
export function linkPath(
  site: SiteId,
  {
    publicKey,
    nextKey,
    endpoints,
    lanes,
    relay,
    fallback,
  }: Pick<NetworkFacts, "publicKey" | "nextKey" | "endpoints" | "lanes" | "relay" | "fallback">,
  asked: SiteId | undefined,
  hubs: readonly SiteId[] = [],
  seenAt: (hub: SiteId) => string | undefined = () => undefined,
): LinkPath {
  const beside = lanes?.map((each) => ({ endpoints: [...each] }));
  const keys = { publicKey, ...(nextKey !== undefined && { nextKey }) };
  const met = { ...keys, endpoints: [...endpoints], ...(beside && { lanes: beside }) };
  if (asked !== undefined && asked !== relay?.hub) return met;
  if (relay === undefined) {
    if (fallback === undefined || !hubs.includes(fallback.hub)) return met;
    const { hub, port } = fallback;
    const sight = seenAt(hub);
    const seen = sight === undefined ? {} : { seenAt: sight };
    return { ...met, fallback: { site: hub, endpoint: `${relayAddress(site)}:${port}`, ...seen } };
  }
  return { ...keys, endpoints: [`${relayAddress(site)}:${relay.port}`], via: relay.hub };
}

/** What the gateway is to bring about towards a peer. */
export function forgeLink(
  site: SiteId,
  { publicKey, nextKey, endpoints, lanes = [], via, fallback }: LinkPath,
  own: Pick<OwnNetwork, "keepaliveSeconds" | "lanes">,
  groups: readonly Group[],
  relayTo: readonly SiteId[] = [],
  /** Where the own agent takes packets to carry them there. */
  tcp?: string,
  guests: HomeWords = { addresses: [], names: [] },
  machines: readonly string[] = [],
): Link["spec"] {
  const { keepaliveSeconds } = own;
  // As many as both have.
  const beside = lanes.slice(0, own.lanes.length);
  return {
    site,
    publicKey,
    ...(nextKey !== undefined && { nextKey }),
    endpoints: [...endpoints],
    ...(beside.length > 0 && { lanes: beside.map((each) => ({ endpoints: [...each.endpoints] })) }),
    ...(via !== undefined && { via }),
    ...(fallback && { fallback: { ...fallback } }),
    ...(relayTo.length > 0 && { relayTo: [...relayTo] }),
    ...(tcp !== undefined && { tcp: { endpoint: tcp } }),
    ...(keepaliveSeconds !== undefined && { keepaliveSeconds }),
    groups: groups.map(({ name, local, remote }) => ({ name, local: [...local], remote: [...remote] })),
    ...(machines.length > 0 && { machines: [...machines] }),
    ...(guests.addresses.length > 0 &&
      guests.names.length > 0 && {
        guests: { addresses: [...guests.addresses], names: guests.names.map((each) => ({ ...each })) },
      }),
  };
}
