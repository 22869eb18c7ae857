/** One that has something to send. */
export interface Sender {
  flush(): void;
}

/** How long others wait for their turn. */
const TURN_MS = 2;
/** As many are sent before the clock is looked at. */
const STEP = 16;

/**
 * Sends what watchers are to be told. A few are told at once; many in turns, between which other requests are served, and
 * what comes meanwhile goes out with what still waits.
 */
export class WatchOutbox {
  readonly #waiting = new Set<Sender>();
  readonly #now: () => number;
  #isScheduled = false;
  #joined: { readonly chunks: readonly Buffer[]; readonly bytes: Buffer } | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(sender: Sender): void {
    this.#waiting.add(sender);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // What is written together is told together.
    process.nextTick(() => this.#send(TURN_MS));
  }

  /** All of it as one. Who waits beside others waits for the same mostly, and shares what is made of it. */
  join(chunks: readonly Buffer[]): Buffer {
    const [first] = chunks;
    if (chunks.length === 1 && first !== undefined) return first;
    const { chunks: before, bytes } = this.#joined ?? {};
    if (bytes !== undefined && before?.length === chunks.length && chunks.every((one, i) => one === before[i])) {
      return bytes;
    }
    this.#joined = { chunks, bytes: Buffer.concat(chunks) };
    return this.#joined.bytes;
  }

  #send(allowed: number): void {
    const until = this.#now() + allowed;
    let count = 0;
    for (const sender of this.#waiting) {
      this.#waiting.delete(sender);
      sender.flush();
      if (++count % STEP === 0 && this.#now() >= until) break;
    }
    if (this.#waiting.size === 0) {
      this.#isScheduled = false;
      this.#joined = undefined;
      return;
    }
    const ended = this.#now();
    // As long as others had: neither they nor watchers starve.
    setImmediate(() => this.#send(Math.max(TURN_MS, this.#now() - ended)));
  }
}
