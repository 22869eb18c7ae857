import { type FSWatcher, watch } from "node:fs";

/** How often files are looked at that cannot be watched. */
const LOOK_INTERVAL = 1000;

export interface ContainerWatchOptions {
  readonly directory: string;
  /** There is more in a raw file. */
  readonly onOutput: () => void;
  readonly onChange: () => void;
  /** The kernel gives no more watches: the files are looked at now and then instead. */
  readonly onLoss: (error: unknown) => void;
}

/** Tells of changes in the directory of one container. */
export class ContainerWatch {
  readonly #options: ContainerWatchOptions;
  #watch: FSWatcher | undefined;
  #looking: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ContainerWatchOptions) {
    this.#options = options;
    try {
      this.#watch = watch(options.directory, { persistent: false }, (_, name) => {
        if (name === "stdout.raw" || name === "stderr.raw") options.onOutput();
        else options.onChange();
      });
      this.#watch.on("error", (error) => this.#look(error));
    } catch (error) {
      this.#look(error);
    }
  }

  close(): void {
    this.#closed = true;
    this.#watch?.close();
    this.#watch = undefined;
    clearInterval(this.#looking);
  }

  #look(error: unknown): void {
    if (this.#closed || this.#looking) return;
    const { onOutput, onChange, onLoss } = this.#options;
    onLoss(error);
    this.#looking = setInterval(() => {
      onOutput();
      onChange();
    }, LOOK_INTERVAL).unref();
  }
}
