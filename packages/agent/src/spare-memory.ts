import { type Clock, sleep } from "@fjord/base";

/** What a process tells of its memory and its work, and how it lets go of what it does not need. */
export interface SpareMemoryOptions {
  /** Bytes that the process takes of the machine's memory. */
  readonly residentBytes: () => number;
  /** Milliseconds of processor time so far. */
  readonly workedMs: () => number;
  /** Gives back what nothing is in; takes some tens of milliseconds, in which nothing else is done. */
  readonly collect: () => void;
  readonly clock: Clock;
}

const LOOK_MS = 2_000;
/** Less work than this between two looks is none that anybody waits for. */
const AT_REST_MS = LOOK_MS * 0.3;
/** After so many looks in a row at which it was at rest, what was going on is over. */
const LOOKS_AT_REST = 3;
/** Less is not worth it. */
const WORTH_BYTES = 5 * 1024 * 1024;

/**
 * Gives back what a start or a burst has left, once it is over. V8 waits until next to nothing is done, which with many peers
 * is never; and what connections that are closed have taken goes only with the objects that stood for them.
 */
export class SpareMemory {
  readonly name = "spare memory";
  readonly #options: SpareMemoryOptions;

  constructor(options: SpareMemoryOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { residentBytes, workedMs, collect, clock } = this.#options;
    let needed = 0;
    let before = workedMs();
    let looksAtRest = 0;
    while (!signal.aborted) {
      await sleep(clock, LOOK_MS, signal);
      if (signal.aborted) return;
      const now = workedMs();
      looksAtRest = now - before < AT_REST_MS ? looksAtRest + 1 : 0;
      before = now;
      if (looksAtRest < LOOKS_AT_REST || residentBytes() < needed + WORTH_BYTES) continue;
      collect();
      needed = residentBytes();
      before = workedMs();
    }
  }
}
