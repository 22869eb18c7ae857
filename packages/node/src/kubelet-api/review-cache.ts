import type { Clock } from "@fjord/base";

const LIMIT = 2000;

interface Entry<T> {
  readonly answer: Promise<T>;
  expires: number;
}

/** Remembers answers for a while, and lets those who ask the same at the same time wait for one answer. */
export class ReviewCache<T> {
  readonly #clock: Clock;
  readonly #lifetime: (answer: T) => number;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(clock: Clock, lifetime: (answer: T) => number) {
    this.#clock = clock;
    this.#lifetime = lifetime;
  }

  /** A failure is told to all who wait for it, and not remembered. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key);
    if (known !== undefined && known.expires > this.#clock.now()) return known.answer;
    const entry: Entry<T> = { answer: ask(), expires: Number.POSITIVE_INFINITY };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.answer.then(
      (answer) => {
        entry.expires = this.#clock.now() + this.#lifetime(answer);
      },
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      },
    );
    this.#prune();
    return entry.answer;
  }

  #prune(): void {
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= LIMIT) return;
      this.#entries.delete(key);
    }
  }
}
