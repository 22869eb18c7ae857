import { type Clock, checkedDelay } from "./clock.ts";

/** A clock that moves only when told to. */
export class ManualClock implements Clock {
  #now: number;
  #timers = new Set<{ due: number; callback: () => void }>();

  constructor(start: number = Date.UTC(2030, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { due: this.#now + checkedDelay(ms), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer fires. */
  get untilNext(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY);
    return next === undefined ? undefined : next.due - this.#now;
  }

  /** Moves time forward, firing what falls due in order, and letting promises settle between timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#now = next.due;
      next.callback();
      await settle();
    }
    this.#now = end;
  }

  #next(end: number): { due: number; callback: () => void } | undefined {
    let first: { due: number; callback: () => void } | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer;
    }
    return first;
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
