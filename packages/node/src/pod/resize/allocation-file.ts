import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Allocation, Requirements } from "./allocation.ts";

/** What was granted to a pod's containers, and what running ones have been given of it since they were made. */
export interface AllocationRecord {
  readonly allocation: Allocation;
  /** By id of container. */
  readonly applied: Readonly<Record<string, Requirements>>;
}

/** Keeps a record in the pod's directory, so that it goes with the pod. */
export class AllocationFile {
  readonly #file: string;
  #last: Promise<void> = Promise.resolve();

  constructor(podDirectory: string) {
    this.#file = join(podDirectory, "allocation.json");
  }

  /** Undefined where nothing was ever changed. */
  async read(): Promise<AllocationRecord | undefined> {
    const text = await readFile(this.#file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    try {
      const { allocation, applied } = JSON.parse(text);
      return { allocation: allocation ?? {}, applied: applied ?? {} };
    } catch {
      // A disk that was full, or that broke: what containers were made with is the next best.
      return undefined;
    }
  }

  /** One write after the other; the file is whole at each moment. */
  write(record: AllocationRecord): Promise<void> {
    const write = async () => {
      await mkdir(dirname(this.#file), { recursive: true });
      const draft = `${this.#file}.new`;
      await writeFile(draft, JSON.stringify(record));
      await rename(draft, this.#file);
    };
    this.#last = this.#last.then(write, write);
    return this.#last;
  }
}
