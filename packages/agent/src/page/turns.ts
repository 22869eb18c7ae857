import { TooManyLogins } from "./errors.ts";

const MOST_AT_ONCE = 8;
const MOST_WAITING = 64;

interface Waiter {
  go(): void;
  refuse(error: Error): void;
}

/** A few at a time; the others wait, and those who wait get their turns one after the other, however many each has. */
export class Turns {
  #running = 0;
  /** By who waits, the next first. */
  readonly #waiting = new Map<string, Waiter[]>();

  async take<T>(who: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < MOST_AT_ONCE) this.#running += 1;
    else await this.#wait(who);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  async #wait(who: string): Promise<void> {
    this.#makeRoom(who);
    const { promise, resolve: go, reject: refuse } = Promise.withResolvers<void>();
    const own = this.#waiting.get(who) ?? [];
    own.push({ go, refuse });
    this.#waiting.set(who, own);
    await promise;
  }

  /** Where all places are taken, whoever has most of them gives one up. */
  #makeRoom(who: string): void {
    const all = [...this.#waiting].map(([name, waiters]) => ({ name, waiters }));
    if (all.reduce((sum, { waiters }) => sum + waiters.length, 0) < MOST_WAITING) return;
    const own = this.#waiting.get(who)?.length ?? 0;
    const greediest = all.reduce((most, each) => (each.waiters.length > most.waiters.length ? each : most));
    if (greediest.waiters.length <= own + 1) throw new TooManyLogins({ seconds: 1 });
    greediest.waiters.pop()?.refuse(new TooManyLogins({ seconds: 1 }));
  }

  /** Hands the place on. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [who, waiters] = first;
    const next = waiters.shift();
    this.#waiting.delete(who);
    if (waiters.length > 0) this.#waiting.set(who, waiters);
    next?.go();
  }
}
