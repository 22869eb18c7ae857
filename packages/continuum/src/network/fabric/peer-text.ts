import type { NetworkState, PeerNetwork } from "../network-state.ts";

const texts = new WeakMap<PeerNetwork, string>();

/** A peer's values in one text. Whoever changes a peer gives another object: those that are known need not be read again. */
export function peerText(peer: PeerNetwork): string {
  const known = texts.get(peer);
  if (known !== undefined) return known;
  const text = JSON.stringify(peer);
  texts.set(peer, text);
  return text;
}

/** Whether two states ask for the same. Peers that are the same objects are not read. */
export function sameState(one: NetworkState, other: NetworkState): boolean {
  const { peers, ...rest } = one;
  const { peers: others, ...otherRest } = other;
  if (peers.length !== others.length || JSON.stringify(rest) !== JSON.stringify(otherRest)) return false;
  return peers.every((peer, i) => {
    const counterpart = others[i];
    return peer === counterpart || (counterpart !== undefined && peerText(peer) === peerText(counterpart));
  });
}
