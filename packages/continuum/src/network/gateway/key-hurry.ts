import { type Clock, TokenBucket } from "@fjord/base";
import { RecentMap } from "@fjord/kube";

/** Looks that a peer has taken because of its keys: a new one takes it some seconds, in which each lane is looked at ten times a second. */
const OF_PEER = { burst: 150, perSecond: 0.05 } as const;
/** Of all of them together: one consumer may have introduced 128. */
const OF_ALL = { burst: 600, perSecond: 0.5 } as const;
const MOST_PEERS = 4096;

/**
 * How often links are looked after at once because peers are about to use other keys. A peer says by itself that it is, and may say so for ever: whoever has had
 * its time is looked after as others are. What it says over the link is heard at once all the same; only what shows by a session alone waits for the next look.
 */
export class KeyHurry {
  readonly #clock: Clock;
  /** By site, whose link may have gone and come back. */
  readonly #peers = new RecentMap<TokenBucket>(MOST_PEERS);
  readonly #all: TokenBucket;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#all = new TokenBucket({ ...OF_ALL, clock });
  }

  /** Whether the next look is to be soon, for those whose keys are about to change. Each that has time left pays for it. */
  isFor(sites: Iterable<string>): boolean {
    let isOwed = false;
    for (const site of sites)
      if (this.#peers.getOrMake(site, () => new TokenBucket({ ...OF_PEER, clock: this.#clock })).tryTake())
        isOwed = true;
    return isOwed && this.#all.tryTake();
  }
}
