import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { type Clock, onAbort } from "@fjord/base";

/** How long a change can go unnoticed where the file system tells nothing. */
const BACKSTOP_MS = 10_000;
const WITHOUT_WATCH_MS = 1000;

/** Tells when a log may have changed. Costs nothing while it does not. */
export class LogWatch {
  readonly #clock: Clock;
  readonly #watcher: FSWatcher | undefined;
  #changed = true;
  #wake: () => void = () => {};

  constructor(path: string, clock: Clock) {
    this.#clock = clock;
    this.#watcher = this.#watch(dirname(path));
  }

  /** Resolves after the next change since it last did, at the latest after some seconds, or when the signal aborts. */
  async changed(signal: AbortSignal): Promise<void> {
    if (!this.#changed && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const stop = this.#clock.after(this.#watcher === undefined ? WITHOUT_WATCH_MS : BACKSTOP_MS, () =>
          this.#wake(),
        );
        const release = onAbort(signal, () => this.#wake());
        this.#wake = () => {
          stop();
          release();
          resolve();
        };
      });
    }
    this.#changed = false;
  }

  /** To be called when something has changed that the file system does not know of. */
  touch(): void {
    this.#changed = true;
    this.#wake();
  }

  close(): void {
    this.#watcher?.close();
    this.#wake();
  }

  #watch(directory: string): FSWatcher | undefined {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.touch());
      watcher.on("error", () => this.touch());
      return watcher;
    } catch {
      // No folder yet, or no watches left on this machine: then it is looked at now and then.
      return undefined;
    }
  }
}
