import type { Clock } from "@fjord/base";

interface Entry<T> {
  readonly answer: Promise<T>;
  readonly until: number;
}

/** Answers that may be a little old, each asked for once however many want it at the same time. */
export class Recent<T> {
  readonly #clock: Clock;
  readonly #freshMs: number;
  readonly #ask: (key: string) => Promise<T>;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(clock: Clock, freshMs: number, ask: (key: string) => Promise<T>) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#ask = ask;
  }

  get(key: string): Promise<T> {
    const now = this.#clock.now();
    for (const [each, { until }] of this.#entries) if (until <= now) this.#entries.delete(each);
    const known = this.#entries.get(key);
    if (known !== undefined) return known.answer;
    const answer = this.#ask(key);
    const entry = { answer, until: now + this.#freshMs };
    this.#entries.set(key, entry);
    // A failure is nothing to be remembered.
    answer.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return answer;
  }
}
