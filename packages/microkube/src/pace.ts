/** Work that may be left for a while at each `yield`. */
export type Steps<T> = Generator<void, T>;

/** Does all of it at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Whoever has worked for so long lets the others of the process go on first. */
const LONGEST_MS = 20;

/** Those that wait for their turn: the event loop goes round once for each of them. */
const waiting: (() => void)[] = [];

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(letOneIn);
  });
}

function letOneIn(): void {
  waiting[0]?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(letOneIn);
}

/** What is smaller is done soon enough, in characters or bytes. */
const LARGE = 64 * 1024;

/** How one request holds the event loop: work on a large object is done in parts, for others are to be answered meanwhile. */
export class Pace {
  #isLarge = false;
  #since = 0;

  /** To be told of all that is large. Waits for its turn where this is. */
  async begin(size: number): Promise<void> {
    if (size < LARGE) return;
    this.#isLarge = true;
    await this.#turn();
  }

  /** Waits where enough is done. */
  async rest(): Promise<void> {
    if (this.#isDue) await this.#turn();
  }

  async through<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      if (this.#isDue) await this.#turn();
    }
  }

  get #isDue(): boolean {
    return this.#isLarge && performance.now() - this.#since > LONGEST_MS;
  }

  async #turn(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
  }
}
