import { aborted, type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { OrphanSweep } from "./orphan-sweep.ts";
import type { RuntimeView } from "./runtime-view.ts";

export interface HousekeepingOptions {
  readonly sweep: OrphanSweep;
  readonly views: readonly RuntimeView[];
  /** Brings into volumes what changes by itself, as tokens do. */
  readonly refreshVolumes: () => void;
  /** @default 60_000 */
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A stray is mostly a pod that is about to be known, or about to be gone. */
const PATIENCE_MS = 1_000;

/** What a node does for its pods now and then. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  #isSweepDue = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs = 60_000, views, refreshVolumes } = this.#options;
    await Promise.race([
      aborted(signal),
      Promise.all(views.map(async (view) => view.isListed || (await view.refresh()))),
    ]);
    while (!signal.aborted) {
      void this.#sweep(signal);
      await sleep(clock, intervalMs, signal);
      if (!signal.aborted) refreshVolumes();
    }
  }

  /** Something was seen of a pod that nobody looks after. */
  strayed(signal: AbortSignal): void {
    if (this.#isSweepDue) return;
    this.#isSweepDue = true;
    void sleep(this.#options.clock, PATIENCE_MS, signal).then(() => this.#sweep(signal));
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    this.#isSweepDue = false;
    if (signal.aborted) return;
    try {
      await this.#options.sweep.sweep(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.logger.error("cannot tidy up", { error: describeError(error) });
    }
  }
}
