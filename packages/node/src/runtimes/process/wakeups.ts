import { type Clock, sleep } from "@fjord/base";

/** A hint may be missing, above all for the end of processes, which no file tells. */
const LOOK_INTERVAL = 250;

/** Those who wait for something to happen to a container. */
export class Wakeups {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  readonly #outputs = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something has changed: all look again. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** There is more output: those look who read it. */
  wakeReaders(): void {
    for (const wake of [...this.#outputs]) wake();
  }

  /** Resolves when there may be more output, or something else has changed. */
  output(signal: AbortSignal, isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        this.#outputs.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      this.#outputs.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted || isOver()) done();
    });
  }

  /** Waits for something that the container's files tell; false where it does not come in time. */
  async until(condition: () => boolean, milliseconds: number, signal?: AbortSignal): Promise<boolean> {
    const deadline = this.#clock.now() + milliseconds;
    while (!condition()) {
      const left = deadline - this.#clock.now();
      if (left <= 0 || signal?.aborted) return false;
      const woken = new AbortController();
      const wake = () => woken.abort();
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
      await sleep(this.#clock, Math.min(left, LOOK_INTERVAL), woken.signal);
      signal?.removeEventListener("abort", wake);
      this.#waiting.delete(wake);
    }
    return true;
  }
}
