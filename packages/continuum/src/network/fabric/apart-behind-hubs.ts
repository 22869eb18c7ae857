import { relayAddress } from "../link-address.ts";
import type { PeerNetwork } from "../network-state.ts";

/**
 * Of sites that this one leads to others, each by the address that it has behind hubs, one alone is led to by an address that two of them have: the other one's link stays. An address
 * has 26 bits of a site's id, so that somebody may have made a key that has that of another site.
 */
export function apartBehindHubs(peers: readonly PeerNetwork[]): readonly PeerNetwork[] {
  const led = peers.filter(({ relayTo }) => relayTo !== undefined);
  const owners = new Map<string, string>();
  for (const { siteId } of led) {
    const address = relayAddress(siteId);
    owners.set(address, owners.get(address) ?? siteId);
  }
  if (owners.size === led.length) return peers;
  const isOwner = (siteId: string) => (owners.get(relayAddress(siteId)) ?? siteId) === siteId;
  return peers.map((peer) => {
    const { relayTo, ...rest } = peer;
    if (relayTo === undefined) return peer;
    const others = isOwner(peer.siteId) ? relayTo.filter(isOwner) : [];
    return others.length === 0 ? rest : { ...rest, relayTo: others };
  });
}
