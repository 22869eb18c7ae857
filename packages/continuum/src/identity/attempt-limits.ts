import { type Clock, TokenBucket } from "@fjord/base";
import type { SiteId } from "../site-identity.ts";

const PER_PEER = { burst: 10, perSecond: 0.5 };
/** Keys cost nothing, so strangers together are limited too. */
const TOGETHER = { burst: 200, perSecond: 20 };
const MOST_PEERS = 1024;

/** How often one stranger, and all of them, may try a token. */
export class AttemptLimits {
  readonly #clock: Pick<Clock, "now">;
  readonly #together: TokenBucket;
  readonly #peers = new Map<SiteId, TokenBucket>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#together = new TokenBucket({ ...TOGETHER, clock });
  }

  /** Counts an attempt; false: one too many. */
  allow(peer: SiteId): boolean {
    // In this order: one that is over its own limit does not use up what others share.
    return this.#bucketOf(peer).tryTake() && this.#together.tryTake();
  }

  #bucketOf(peer: SiteId): TokenBucket {
    const bucket = this.#peers.get(peer) ?? new TokenBucket({ ...PER_PEER, clock: this.#clock });
    // The one that has been away for longest is first.
    this.#peers.delete(peer);
    this.#peers.set(peer, bucket);
    const [oldest] = this.#peers.keys();
    if (this.#peers.size > MOST_PEERS && oldest !== undefined) this.#peers.delete(oldest);
    return bucket;
  }
}
