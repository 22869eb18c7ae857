import type { PeerNetwork } from "../network-state.ts";

/**
 * The address of a peer behind hubs has one way: to that peer, where this site is a hub to it, or to the hub through which this site meets it. So this
 * site leads nobody to a peer that it meets only through another one, nor a peer and its hub to each other, which have a link. Packets to it would else go
 * round in this site's own tunnel.
 */
export function withoutCircles(peers: readonly PeerNetwork[], canNest: boolean): PeerNetwork[] {
  if (!peers.some(({ relayTo }) => relayTo !== undefined)) return [...peers];
  const behind = new Set(peers.filter(({ link }) => link?.via !== undefined).map(({ siteId }) => siteId));
  const hubs = new Map(peers.map(({ siteId, link }) => [siteId, canNest ? link?.fallback?.via : undefined]));
  const isLed = (one: string, other: string) =>
    !behind.has(one) && !behind.has(other) && hubs.get(one) !== other && hubs.get(other) !== one;
  return peers.map((peer) => {
    const { relayTo, ...rest } = peer;
    const led = relayTo?.filter((other) => isLed(peer.siteId, other)) ?? [];
    if (led.length === (relayTo?.length ?? 0)) return peer;
    return led.length === 0 ? rest : { ...rest, relayTo: led };
  });
}
