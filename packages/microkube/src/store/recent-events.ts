import type { StoreEvent } from "./store.ts";

/** The last events in memory, within bounds of number and of text, so that most watches and lists need no disk. */
export class RecentEvents {
  readonly #limits: { events: number; characters: number };
  #events: StoreEvent[] = [];
  /** How many of `#events` at its front are dropped already. */
  #dropped = 0;
  #characters = 0;
  /** Every event after this revision is here. */
  #after: number;

  constructor(after: number, limits: { events: number; characters: number }) {
    this.#after = after;
    this.#limits = limits;
  }

  get after(): number {
    return this.#after;
  }

  add(event: StoreEvent): void {
    this.#events.push(event);
    this.#characters += event.object.json.length;
    const { events, characters } = this.#limits;
    while (this.#events.length - this.#dropped > events || this.#characters > characters) {
      const oldest = this.#events[this.#dropped] as StoreEvent;
      this.#dropped++;
      this.#characters -= oldest.object.json.length;
      this.#after = oldest.revision;
    }
    if (this.#dropped <= events / 4 && this.#dropped < this.#events.length) return;
    this.#events = this.#events.slice(this.#dropped);
    this.#dropped = 0;
  }

  /** Events after a revision that is not before `after`; of keys with the prefix. */
  *since(revision: number, prefix: string): Generator<StoreEvent> {
    // Each write is one revision, so the place follows from the number.
    const events = this.#events;
    const first = events[this.#dropped];
    if (first === undefined) return;
    const end = events.length;
    for (let at = Math.max(this.#dropped, this.#dropped + revision + 1 - first.revision); at < end; at++) {
      const event = events[at] as StoreEvent;
      if (event.object.key.startsWith(prefix)) yield event;
    }
  }
}
