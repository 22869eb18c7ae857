import type { Clock } from "@fjord/base";
import { InvalidLeaseTiming } from "./errors.ts";

export interface LeaseTiming {
  /** How long others wait for a leader that has gone silent; whole seconds, rounded up. @default 15_000 */
  leaseDurationMs: number;
  /** How long a leader that cannot renew goes on; the rest of the lease is its time to stop. @default 10_000 */
  renewDeadlineMs: number;
  /** How often a candidate looks, and a leader renews. @default 2_000 */
  retryPeriodMs: number;
}

/** The time for which one successful claim gives the right to lead, counted from before it was sent. */
export class Tenure {
  readonly #over = new AbortController();
  readonly #clock: Clock;
  readonly #until: number;
  readonly #cancel: () => void;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#until = clock.now() + ms;
    this.#cancel = clock.after(ms, () => this.#over.abort());
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted || this.#clock.now() >= this.#until;
  }

  /** Another takes its place: it will not be over. */
  end(): void {
    this.#cancel();
  }
}

export function checkLeaseTiming(lease: string, timing: LeaseTiming): void {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const refuse = (reason: string) => new InvalidLeaseTiming({ lease, reason });
  if (!(retryPeriodMs > 0)) throw refuse(`a retry period of ${retryPeriodMs} ms is no time`);
  if (renewDeadlineMs <= retryPeriodMs * 1.2) {
    throw refuse(`a renew deadline of ${renewDeadlineMs} ms leaves no retry with a period of ${retryPeriodMs} ms`);
  }
  if (leaseDurationMs <= renewDeadlineMs) {
    throw refuse(`a lease of ${leaseDurationMs} ms would end before the renew deadline of ${renewDeadlineMs} ms`);
  }
}
