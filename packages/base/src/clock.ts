import { defineError } from "./errors.ts";

/** Time as a dependency. Whoever waits or dates something takes one, so that a test can decide what time it is. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * Calls `callback` once after `ms`, however long that is (never, for Infinity); less than nothing counts as nothing,
   * and what is no number is refused. The function returned cancels it.
   */
  after(ms: number, callback: () => void): () => void;
}

export const InvalidDelay = defineError(
  "INVALID_DELAY",
  "cannot wait for {ms} ms: that is not a number",
  "Find out where the number comes from: most often a missing option, or a field of someone's answer used unchecked.",
);

/** The delay that `after` is to use; throws for what is no number, which a timer would take as no delay at all. */
export function checkedDelay(ms: number): number {
  if (typeof ms !== "number" || Number.isNaN(ms)) throw new InvalidDelay({ ms });
  return Math.max(0, ms);
}

/** The longest time that a JavaScript timer can be set to; beyond it the timer would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    let left = checkedDelay(ms);
    let timer: NodeJS.Timeout;
    const arm = () => {
      const step = Math.min(left, LONGEST_TIMER);
      left -= step;
      timer = setTimeout(left > 0 ? arm : callback, step);
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Milliseconds that only ever grow, whoever sets the system's clock: for how long ago something was, and not for when. */
export function steadyNow(clock: Clock): number {
  return clock === systemClock ? performance.timeOrigin + performance.now() : clock.now();
}

/** Resolves after `ms`, or as soon as `signal` aborts; an abort does not reject: callers look at the signal. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(ms, wake);
    signal?.addEventListener("abort", wake, { once: true });
  });
}
