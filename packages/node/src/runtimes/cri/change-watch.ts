import { type Clock, onAbort, sleep } from "@fjord/base";
import { changedPods, type Snapshot, snapshot } from "./pod-changes.ts";
import type { PodLister } from "./pod-lister.ts";
import type { RuntimeEvents } from "./runtime-events.ts";

/** How soon an end is noticed at the latest where the runtime has no events. */
const INTERVAL = 1_000;
/** How often it is looked all the same where it has: what they miss is noticed then. */
const SLOW_INTERVAL = 5_000;
/** containerd tells that a process has ended before its CRI knows: it is looked again after each of these. */
const RETRIES = [10, 20, 40, 80, 160, 320];

export interface ChangeWatchOptions {
  readonly lister: PodLister;
  readonly events: RuntimeEvents;
  readonly clock: Clock;
  /** Told each time that a container is looked for of which the runtime says that it has ended. */
  readonly onTold?: (id: string) => void;
}

/** Notices what changes in a runtime, once for the whole node: looks at it when it is told to, and now and then. */
export class ChangeWatch {
  readonly #lister: PodLister;
  readonly #events: RuntimeEvents;
  readonly #clock: Clock;
  readonly #onTold: (id: string) => void;
  /** Kept between runs, so that what changed while the runtime was away is noticed too. */
  #seen: Snapshot = new Map();
  /** Ids that something was told of, and how often it was looked for since. */
  readonly #told = new Map<string, number>();
  #wake: () => void = () => {};

  constructor(options: ChangeWatchOptions) {
    this.#onTold = options.onTold ?? (() => {});
    this.#lister = options.lister;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  async *changes(signal: AbortSignal): AsyncIterable<string> {
    const stop = new AbortController();
    const cancel = onAbort(signal, () => stop.abort());
    const following = this.#events.run(
      (id) => this.#onEvent(id),
      () => this.#wake(),
      stop.signal,
    );
    try {
      while (!signal.aborted) {
        yield* await this.#look(signal);
        await this.#pause(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      cancel();
      stop.abort();
      await following;
    }
  }

  #onEvent(id: string): void {
    this.#told.set(id, 0);
    this.#wake();
  }

  async #look(signal: AbortSignal): Promise<Set<string>> {
    for (const [id, looks] of this.#told) {
      this.#onTold(id);
      if (looks >= RETRIES.length) this.#told.delete(id);
      else this.#told.set(id, looks + 1);
    }
    const { sandboxes, containers } = await this.#lister.listRaw(signal);
    const now = snapshot(sandboxes, containers);
    const changed = changedPods(this.#seen, now);
    this.#seen = now;
    for (const id of this.#told.keys()) if (now.get(id)?.alive !== true) this.#told.delete(id);
    return changed;
  }

  /** Until the next look is due. An event brings it forward; several at once need only one. */
  async #pause(signal: AbortSignal): Promise<void> {
    const due = new AbortController();
    const cancel = onAbort(signal, () => due.abort());
    this.#wake = () => due.abort();
    if (this.#told.size === 0) await sleep(this.#clock, this.#events.listening ? SLOW_INTERVAL : INTERVAL, due.signal);
    this.#wake = () => {};
    cancel();
    if (this.#told.size === 0) return;
    const looks = Math.min(...this.#told.values());
    await sleep(this.#clock, RETRIES[looks] ?? INTERVAL, signal);
  }
}
