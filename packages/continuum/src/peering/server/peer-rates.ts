import { type Clock, TokenBucket } from "@fjord/base";
import { RecentMap } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";

/** More than have ever been seen: whoever has not asked for longest begins anew. */
const MOST_PEERS = 4096;

export interface PeerRatesOptions {
  readonly perSecond: number;
  readonly burst: number;
  readonly clock: Pick<Clock, "now">;
}

/** How often each peer may ask: one that never stops would keep the agent from answering the others. */
export class PeerRates {
  readonly #options: PeerRatesOptions;
  readonly #peers = new RecentMap<TokenBucket>(MOST_PEERS);

  constructor(options: PeerRatesOptions) {
    this.#options = options;
  }

  /** Counts a question, or several where it costs as much; false: one too many. */
  allow(peer: SiteId, cost = 1): boolean {
    return this.#peers.getOrMake(peer, () => new TokenBucket(this.#options)).tryTake(cost);
  }
}
