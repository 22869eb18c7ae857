import { Backoff, type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import { ApiError, ConnectionError } from "@fjord/kube";

export interface PatienceOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** How long a refusal may be the work of an API server that has yet to read who may do what. @default 15 000 */
  readonly refusalMs?: number;
}

/**
 * Asks the own API until it answers: an agent that starts while its API server is away waits for it, as one that runs
 * does. A refusal is believed when it has lasted.
 */
export async function patiently<T>(ask: () => Promise<T>, options: PatienceOptions): Promise<T> {
  const { clock, random, logger, signal, refusalMs = 15_000 } = options;
  const backoff = new Backoff({ initial: 100, max: 2_000, random });
  let refusedAt: number | undefined;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) throw error;
      if (isRefusal(error)) {
        refusedAt ??= clock.now();
        if (clock.now() - refusedAt >= refusalMs) throw error;
      } else if (isAway(error)) refusedAt = undefined;
      else throw error;
      const retryInMs = Math.round(backoff.next());
      logger.warn("the own API does not serve yet", { error: describeError(error), retryInMs });
      await sleep(clock, retryInMs, signal);
      signal.throwIfAborted();
    }
  }
}

function isAway(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.statusCode >= 500);
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.statusCode === 401 || error.statusCode === 403);
}
