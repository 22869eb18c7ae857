import { type Clock, onAbort } from "@fjord/base";

export interface TurnsOptions {
  /** How many run at once. */
  readonly limit: number;
  /** Milliseconds after which another may start beside one that is still running: it waits for something itself. */
  readonly patience: number;
  readonly clock: Clock;
}

interface Waiting {
  readonly priority: number;
  readonly go: () => void;
}

/**
 * Lets few things run at once, of which each keeps a processor busy: all end no later than if all ran together, and
 * most of them much sooner. Those of a higher priority go first, else whoever came first.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  async run<T>(priority: number, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#turn(priority, signal);
    let held = true;
    const give = () => {
      if (!held) return;
      held = false;
      this.#running--;
      this.#next();
    };
    const cancel = this.#options.clock.after(this.#options.patience, give);
    try {
      return await task();
    } finally {
      cancel();
      give();
    }
  }

  #turn(priority: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = {
        priority,
        go: () => {
          cancel();
          resolve();
        },
      };
      const cancel = signal === undefined ? () => {} : onAbort(signal, () => reject(this.#giveUp(waiting, signal)));
      if (signal?.aborted) return;
      const behind = this.#waiting.findIndex((other) => other.priority < priority);
      this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, waiting);
      this.#next();
    });
  }

  #giveUp(waiting: Waiting, signal: AbortSignal): unknown {
    const at = this.#waiting.indexOf(waiting);
    if (at >= 0) this.#waiting.splice(at, 1);
    return signal.reason;
  }

  #next(): void {
    while (this.#running < this.#options.limit) {
      const first = this.#waiting.shift();
      if (first === undefined) return;
      this.#running++;
      first.go();
    }
  }
}
