import type { PeerNetwork } from "../network-state.ts";

/** Smaller packets nobody need be able to send. */
const SMALLEST = 576;

/** How large packets to peers may be. `largest` is always the interface's. */
export class PeerMtus {
  /** By site: the largest packet that the node can send there in one piece. */
  readonly #paths = new Map<string, number>();
  /** Peers with what was measured, by what was asked for: the same object as long as both stay. */
  readonly #measures = new WeakMap<PeerNetwork, PeerNetwork>();

  /** What the node says of its way there; what was known before holds where it says nothing. */
  note(siteId: string, pathMtu: number | undefined): void {
    if (pathMtu !== undefined) this.#paths.set(siteId, pathMtu);
  }

  /** Of others nothing is remembered. */
  keepOnly(sites: ReadonlySet<string>): void {
    for (const siteId of this.#paths.keys()) if (!sites.has(siteId)) this.#paths.delete(siteId);
  }

  /** By what the node can send there in one piece. WireGuard fills up to sixteens, but not beyond the interface's. */
  capped(siteId: string, mtu: number, largest: number): number {
    const path = this.#paths.get(siteId) ?? largest;
    return path >= largest ? mtu : Math.min(mtu, Math.max(Math.floor(path / 16) * 16, SMALLEST));
  }

  /** No larger packets are sent to a peer than were seen to get there; what was known before holds until then. */
  measured(peer: PeerNetwork, seen: number | undefined, largest: number): PeerNetwork {
    const capped = this.capped(peer.siteId, seen ?? peer.mtu ?? largest, largest);
    const mtu = capped >= largest ? undefined : capped;
    if (mtu === peer.mtu) return peer;
    const known = this.#measures.get(peer);
    if (known !== undefined && known.mtu === mtu) return known;
    const { mtu: _, ...rest } = peer;
    const measured = mtu === undefined ? rest : { ...rest, mtu };
    this.#measures.set(peer, measured);
    return measured;
  }
}
