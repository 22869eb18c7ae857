import { type Clock, systemClock } from "@fjord/base";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
  disarm: () => void;
}

/** Real time, in which a test can jump ahead: whatever falls due by that fires at once. */
export class JumpingClock implements Clock {
  readonly #timers = new Set<Timer>();
  #ahead = 0;

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
    timer.disarm = systemClock.after(timer.due - this.now(), () => {
      this.#timers.delete(timer);
      timer.callback();
    });
  }
}
