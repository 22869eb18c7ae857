import type { Clock } from "@fjord/base";

/**
 * How long questions wait for an API that may be away: the first one for its time, those that follow not at all, until
 * the API was heard of again or a while has passed. Else a hundred pods that start without an API would wait in turn.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #answerMs: number;
  readonly #forgetMs: number;
  #silentAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, answerMs: number, forgetMs = 10_000) {
    this.#clock = clock;
    this.#answerMs = answerMs;
    this.#forgetMs = forgetMs;
  }

  /** For how long to wait now; whoever has nothing else to go by waits in any case. */
  waitMs(hasOther: boolean): number {
    const isSilent = this.#clock.now() - this.#silentAt < this.#forgetMs;
    return isSilent && hasOther ? 0 : this.#answerMs;
  }

  /** An answer was waited for in vain; who did not wait cannot tell. */
  silent(waitedMs: number): void {
    if (waitedMs > 0) this.#silentAt = this.#clock.now();
  }

  heard(): void {
    this.#silentAt = Number.NEGATIVE_INFINITY;
  }
}
