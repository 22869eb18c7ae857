import { type Clock, sleep } from "@fjord/base";
import { changedPods, type Snapshot, snapshot } from "./pod-changes.ts";
import type { PodLister } from "./pod-lister.ts";

/** How soon an end is noticed at the latest. */
const INTERVAL = 1_000;

/** Notices what changes in a runtime by looking at it, once for the whole node. */
export class ChangeWatch {
  readonly #lister: PodLister;
  readonly #clock: Clock;
  /** Kept between runs, so that what changed while the runtime was away is noticed too. */
  #seen: Snapshot = new Map();

  constructor(lister: PodLister, clock: Clock) {
    this.#lister = lister;
    this.#clock = clock;
  }

  async *changes(signal: AbortSignal): AsyncIterable<string> {
    while (!signal.aborted) {
      const { sandboxes, containers } = await this.#lister.listRaw(signal);
      const now = snapshot(sandboxes, containers);
      const changed = changedPods(this.#seen, now);
      this.#seen = now;
      yield* changed;
      await sleep(this.#clock, INTERVAL, signal);
    }
  }
}
