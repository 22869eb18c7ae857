import { type Clock, systemClock } from "@fjord/base";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
  disarm: () => void;
}

/**
 * Real time, in which a test can jump ahead: whatever falls due by that fires at once. What is due later than `longMs`
 * waits for a jump: a test that waits for minutes sees what comes by itself, and not what comes once the time is over.
 */
export class JumpingClock implements Clock {
  readonly #timers = new Set<Timer>();
  readonly #longMs: number;
  #ahead = 0;

  constructor({ longMs = 20_000 } = {}) {
    this.#longMs = longMs;
  }

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { due: this.now() + ms, callback, disarm: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      this.#timers.delete(timer);
      timer.disarm();
    };
  }

  jump(ms: number): void {
    this.#ahead += ms;
    for (const timer of this.#timers) {
      timer.disarm();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    const ms = timer.due - this.now();
    timer.disarm = () => {};
    if (ms > this.#longMs) return;
    timer.disarm = systemClock.after(ms, () => {
      this.#timers.delete(timer);
      timer.callback();
    });
  }
}
