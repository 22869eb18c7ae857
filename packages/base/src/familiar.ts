/**
 * What was met of late, by its text. What comes again and again stays, and what comes once is soon forgotten: there are twice
 * `capacity` entries at most.
 */
export class Familiar<T> {
  readonly #capacity: number;
  #recent = new Map<string, T>();
  #before = new Map<string, T>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** What was met by this text, else `value`, which is then. */
  meet(text: string, value: T): T {
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const met = this.#before.get(text) ?? value;
    if (this.#recent.size === this.#capacity) {
      this.#before = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(text, met);
    return met;
  }
}
