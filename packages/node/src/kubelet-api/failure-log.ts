import { type Clock, type Logger, TokenBucket } from "@fjord/base";

/** So many failures are logged each on its own line after a quiet time, and then one in ten seconds. */
const RATE = { burst: 5, perSecond: 0.1 };

/** Logs failed requests, but not one line for each that a stranger cares to cause. */
export class FailureLog {
  readonly #log: Logger;
  readonly #bucket: TokenBucket;
  #silent = 0;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#bucket = new TokenBucket({ ...RATE, clock });
  }

  failed(message: string, error: string): void {
    if (!this.#bucket.tryTake()) {
      this.#silent++;
      return;
    }
    this.#log.warn(message, { error, ...(this.#silent > 0 && { unlogged: this.#silent }) });
    this.#silent = 0;
  }
}
