import type { Clock } from "@fjord/base";

/** One timer for all times at which something wants to be woken; the earliest holds. */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #due = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};
  #isStopped = false;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Wakes at the time, or before. */
  at(time: number): void {
    if (time >= this.#due || this.#isStopped) return;
    this.#cancel();
    this.#due = time;
    this.#cancel = this.#clock.after(Math.max(time - this.#clock.now(), 1), () => {
      this.#due = Number.POSITIVE_INFINITY;
      this.#wake();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }
}
