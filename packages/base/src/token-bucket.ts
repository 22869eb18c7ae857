import type { Clock } from "./clock.ts";

export interface TokenBucketOptions {
  /** How many may pass at once after a quiet time. */
  burst: number;
  /** How many more pass each second. */
  perSecond: number;
  clock: Pick<Clock, "now">;
}

/** Lets a burst through and then a steady rate. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.clock.now();
  }

  /** Takes so many tokens if they are there; none are there while there is a debt. */
  tryTake(count = 1): boolean {
    this.#fill();
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Takes so many tokens, on credit if need be, and gives the milliseconds to wait until they are covered. */
  reserve(count = 1): number {
    this.#fill();
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#options.perSecond) * 1000;
  }

  /** Puts tokens back that were taken for nothing. */
  giveBack(count: number): void {
    this.#fill();
    this.#tokens = Math.min(this.#options.burst, this.#tokens + count);
  }

  #fill(): void {
    const { burst, perSecond, clock } = this.#options;
    const now = clock.now();
    // A clock set back must not drain the bucket.
    const elapsed = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(burst, this.#tokens + (elapsed / 1000) * perSecond);
    this.#filledAt = now;
  }
}
