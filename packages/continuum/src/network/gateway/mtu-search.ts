/** Smaller packets IPv6 does not have to be asked about. */
const SMALLEST = 1280;
const TRIES = 3;
/** Nobody gains by knowing it better. */
const STEP = 8;
const AGAIN_MS = 300_000;

/** Seeks the largest packet that a path carries: first the largest there can be, and where that gets lost, by halves. */
export class MtuSearch {
  readonly #largest: number;
  #low: number | undefined;
  #high: number;
  #size: number;
  #tries = 0;
  #isWaiting = false;
  #doneAt: number | undefined;
  #found: number | undefined;

  constructor(largest: number) {
    this.#largest = largest;
    this.#high = largest;
    this.#size = largest;
  }

  /** The largest that came back the last time that it was sought. */
  get found(): number | undefined {
    return this.#found;
  }

  /** The size to try now, if any. */
  next(now: number): number | undefined {
    if (this.#doneAt !== undefined && now - this.#doneAt >= AGAIN_MS) this.#begin();
    if (this.#doneAt !== undefined || this.#isWaiting) return undefined;
    this.#isWaiting = true;
    return this.#size;
  }

  passed(size: number, now: number): void {
    if (size !== this.#size || this.#doneAt !== undefined) return;
    this.#low = size;
    this.#go(now);
  }

  failed(size: number, now: number): void {
    if (size !== this.#size || this.#doneAt !== undefined) return;
    this.#isWaiting = false;
    if (++this.#tries < TRIES) return;
    this.#high = size;
    this.#go(now);
  }

  #begin(): void {
    this.#low = undefined;
    this.#high = this.#largest;
    this.#size = this.#largest;
    this.#tries = 0;
    this.#isWaiting = false;
    this.#doneAt = undefined;
  }

  #go(now: number): void {
    this.#isWaiting = false;
    this.#tries = 0;
    const [low, high] = [this.#low, this.#high];
    const isDone = low === this.#largest || (low === undefined ? high <= SMALLEST : high - low <= STEP);
    // The smallest comes second: where even that gets lost, nothing in between passes.
    if (!isDone) this.#size = low === undefined ? SMALLEST : Math.floor((low + high) / 2);
    else {
      this.#found = low;
      this.#doneAt = now;
    }
  }
}
