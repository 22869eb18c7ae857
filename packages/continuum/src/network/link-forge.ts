import type { Link } from "@fjord/api";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { relayAddress } from "./link-address.ts";
import type { Group } from "./network-state.ts";
import type { OwnNetwork } from "./own-network.ts";

/** How a peer's gateway is reached, by its word. */
export type LinkPath = Pick<Link["spec"], "publicKey" | "endpoints" | "via">;

/**
 * By the peer's facts: as it says, or through a hub. `asked` is the hub that this site's owner has named: then the peer must have agreed to
 * the same one. Where this site has named none, the peer's word is enough, as a hub that has no link here leads nowhere.
 */
export function linkPath(
  site: SiteId,
  { publicKey, endpoints, relay }: Pick<NetworkFacts, "publicKey" | "endpoints" | "relay">,
  asked: SiteId | undefined,
): LinkPath {
  if (relay === undefined || (asked !== undefined && asked !== relay.hub))
    return { publicKey, endpoints: [...endpoints] };
  return { publicKey, endpoints: [`${relayAddress(site)}:${relay.port}`], via: relay.hub };
}

/** What the gateway is to bring about towards a peer. */
export function forgeLink(
  site: SiteId,
  { publicKey, endpoints, via }: LinkPath,
  { keepaliveSeconds }: Pick<OwnNetwork, "keepaliveSeconds">,
  groups: readonly Group[],
): Link["spec"] {
  return {
    site,
    publicKey,
    endpoints: [...endpoints],
    ...(via !== undefined && { via }),
    ...(keepaliveSeconds !== undefined && { keepaliveSeconds }),
    groups: groups.map(({ name, local, remote }) => ({ name, local: [...local], remote: [...remote] })),
  };
}
