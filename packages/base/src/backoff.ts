import type { Random } from "./random.ts";

export interface BackoffOptions {
  /** The first delay in milliseconds. */
  initial: number;
  /** No delay is longer than this. */
  max: number;
  /** @default 2 */
  factor?: number;
  /** Up to this share is taken off each delay at random, so that many clients do not return together. @default 0.5 */
  jitter?: number;
  random: Random;
}

/** Delays that grow with each failure in a row, until `reset`. */
export class Backoff {
  readonly #options: Required<BackoffOptions>;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = { factor: 2, jitter: 0.5, ...options };
  }

  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure and gives the delay to wait for. */
  next(): number {
    return backoffDelay(this.#failures++, this.#options);
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** The delay after `failures` earlier failures in a row. */
export function backoffDelay(failures: number, options: BackoffOptions): number {
  const { initial, max, factor = 2, jitter = 0.5, random } = options;
  const full = Math.min(max, initial * factor ** Math.min(failures, 64));
  return full * (1 - jitter * random());
}
