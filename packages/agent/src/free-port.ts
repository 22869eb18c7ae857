import { type Clock, describeError, type Logger, sleep } from "@fjord/base";

const AGAIN_MS = 2_000;

/** Runs a server once its port is free: any user of a machine may take one, and what only tells of others' work is not to keep them from it. */
export async function runWhenFree(
  server: { run(signal: AbortSignal): Promise<void> },
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  for (let isToldOf = false; !signal.aborted; isToldOf = true) {
    try {
      return await server.run(signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      if (!isToldOf)
        logger.warn("health and metrics are served once their port is free", { reason: describeError(error) });
      await sleep(clock, AGAIN_MS, signal);
    }
  }
}
