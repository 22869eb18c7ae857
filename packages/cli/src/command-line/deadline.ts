import type { Clock } from "@fjord/base";

interface Deadline {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The error where time is over. */
  readonly late: () => Error;
}

/**
 * Does some work that ends with the signal that it is given: when the caller's aborts, or when time is over, also where the API
 * has taken a request and never answers it.
 */
export async function withDeadline<T>(deadline: Deadline, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, clock, timeoutMs, late } = deadline;
  const over = new AbortController();
  const cancel = clock.after(timeoutMs, () => over.abort());
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } catch (error) {
    throw over.signal.aborted && !signal.aborted ? late() : error;
  } finally {
    cancel();
  }
}
