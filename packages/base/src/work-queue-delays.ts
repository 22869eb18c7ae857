import type { Clock } from "./clock.ts";

interface Delay {
  readonly key: string;
  due: number;
  index: number;
}

/** Keys that fall due later, each once, at the earliest time asked for: a heap with a single armed timer. */
export class WorkQueueDelays {
  readonly #clock: Clock;
  readonly #release: (key: string) => void;
  readonly #heap: Delay[] = [];
  readonly #byKey = new Map<string, Delay>();
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};

  constructor(clock: Clock, release: (key: string) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(key: string, ms: number): void {
    const due = this.#clock.now() + ms;
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) {
      const delay = { key, due, index: this.#heap.length };
      this.#byKey.set(key, delay);
      this.#heap.push(delay);
      this.#up(delay);
    } else if (due < waiting.due) {
      waiting.due = due;
      this.#up(waiting);
    }
    this.#arm();
  }

  clear(): void {
    this.#heap.length = 0;
    this.#byKey.clear();
    this.#arm();
  }

  #arm(): void {
    const first = this.#heap[0]?.due ?? Number.POSITIVE_INFINITY;
    if (first === this.#armedFor) return;
    this.#disarm();
    this.#armedFor = first;
    if (first === Number.POSITIVE_INFINITY) {
      this.#disarm = () => {};
      return;
    }
    this.#disarm = this.#clock.after(first - this.#clock.now(), () => this.#fire(first));
  }

  /** `reached` is the time that the timer stood for: timers may run a little ahead of the clock. */
  #fire(reached: number): void {
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = Math.max(this.#clock.now(), reached);
    for (let first = this.#heap[0]; first !== undefined && first.due <= now; first = this.#heap[0]) {
      this.#removeFirst(first);
      this.#release(first.key);
    }
    this.#arm();
  }

  #removeFirst(first: Delay): void {
    this.#byKey.delete(first.key);
    const last = this.#heap.pop();
    if (last === undefined || last === first) return;
    this.#place(last, 0);
    this.#down(last);
  }

  #up(delay: Delay): void {
    while (delay.index > 0) {
      const at = (delay.index - 1) >> 1;
      const parent = this.#heap[at];
      if (parent === undefined || parent.due <= delay.due) return;
      this.#place(parent, delay.index);
      this.#place(delay, at);
    }
  }

  #down(delay: Delay): void {
    for (;;) {
      const left = this.#heap[2 * delay.index + 1];
      const right = this.#heap[2 * delay.index + 2];
      const least = right !== undefined && left !== undefined && right.due < left.due ? right : left;
      if (least === undefined || least.due >= delay.due) return;
      const at = least.index;
      this.#place(least, delay.index);
      this.#place(delay, at);
    }
  }

  #place(delay: Delay, index: number): void {
    this.#heap[index] = delay;
    delay.index = index;
  }
}
