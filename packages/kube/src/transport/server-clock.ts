import { type Clock, steadyNow } from "@fjord/base";
import { clockAhead } from "./clock-ahead.ts";

/**
 * What time it is at a server, by the `date` of its answers: its controllers go by that, and the own clock may be another. Known to
 * about two seconds, and by the own clock until there was an answer. Whoever sets the own clock meanwhile changes nothing.
 */
export class ServerClock {
  readonly #clock: Clock;
  #ahead = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since the Unix epoch. */
  now(): number {
    return this.steady() + this.#ahead;
  }

  /** By how many milliseconds this server's clock is ahead of another's. */
  aheadOf(other: ServerClock): number {
    return Math.round(this.now() - other.now());
  }

  /** When something is asked, for whoever notes the answer. */
  steady(): number {
    return steadyNow(this.#clock);
  }

  /** Takes note of an answer to what was asked at a time of `steady`. */
  answered(date: string | undefined, asked: number): void {
    if (date !== undefined) this.#ahead = clockAhead(date, { asked, answered: this.steady() }, this.#ahead);
  }
}
