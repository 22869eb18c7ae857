import { type Clock, sleep } from "@fjord/base";

export interface WaitOptions {
  clock: Clock;
  /** Milliseconds. */
  timeout: number;
  /** Milliseconds between two looks. @default 50 */
  interval?: number;
  signal?: AbortSignal;
}

/** Looks until `condition` gives something other than undefined or false; undefined when the time is up. */
export async function waitFor<T>(
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  options: WaitOptions,
): Promise<T | undefined> {
  const deadline = options.clock.now() + options.timeout;
  for (;;) {
    options.signal?.throwIfAborted();
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    if (options.clock.now() >= deadline) return undefined;
    await sleep(options.clock, options.interval ?? 50, options.signal);
  }
}
