import { type Clock, sleep } from "@fjord/base";

export interface RestCollectorOptions {
  /** How much has been done so far. */
  readonly work: () => number;
  /** Gives memory back to the machine. */
  readonly collect: () => void;
  readonly clock: Clock;
}

const LOOK_MS = 5_000;
/** Less leaves too little behind to be worth the pause. */
const WORTH = 500;

/**
 * Collects garbage once after work has come to rest. Thousands of pods that pass by leave a heap that is mostly empty, and
 * an idle process would keep it for good.
 */
export class RestCollector {
  readonly #options: RestCollectorOptions;

  constructor(options: RestCollectorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { work, collect, clock } = this.#options;
    let collected = 0;
    let before = 0;
    while (!signal.aborted) {
      await sleep(clock, LOOK_MS, signal);
      const done = work();
      const isAtRest = done === before;
      before = done;
      if (!isAtRest || done - collected < WORTH || signal.aborted) continue;
      collected = done;
      collect();
    }
  }
}
