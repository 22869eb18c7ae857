import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, describeError, type Logger } from "@fjord/base";
import type { RuntimeContainer, RuntimeSandbox } from "../../runtime/index.ts";

type Changing<T> = { -readonly [K in keyof T]: T[K] };
export type ContainerRecord = Changing<RuntimeContainer> & { readonly isInit: boolean };
export type SandboxRecord = Changing<Omit<RuntimeSandbox, "containers">> & {
  readonly labels: Readonly<Record<string, string>>;
  containers: ContainerRecord[];
};

export interface RecordFileOptions {
  readonly file?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SOON_MS = 20;

/** What a simulated runtime has, in memory and, a moment later or when `saved` is awaited, in a file. */
export class RecordFile {
  sandboxes: SandboxRecord[];
  readonly #options: RecordFileOptions;
  #isDue = false;
  #writing: Promise<void> = Promise.resolve();

  static async open(options: RecordFileOptions): Promise<RecordFile> {
    if (options.file === undefined) return new RecordFile(options, []);
    try {
      return new RecordFile(options, JSON.parse(await readFile(options.file, "utf8")) as SandboxRecord[]);
    } catch (error) {
      const isNew = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (!isNew) options.logger.warn("cannot go on with simulated pods", { error: describeError(error) });
      return new RecordFile(options, []);
    }
  }

  private constructor(options: RecordFileOptions, sandboxes: SandboxRecord[]) {
    this.#options = options;
    this.sandboxes = sandboxes;
  }

  /** What changes in one go is written once. */
  changed(): void {
    if (this.#isDue || this.#options.file === undefined) return;
    this.#isDue = true;
    this.#options.clock.after(SOON_MS, () => {
      if (this.#isDue) void this.flush();
    });
  }

  /** Resolves when the file has all that there is now: nobody is to be told of what a crash would undo. */
  saved(): Promise<void> {
    return this.#isDue ? this.flush() : this.#writing;
  }

  flush(): Promise<void> {
    const { file } = this.#options;
    if (file === undefined) return Promise.resolve();
    this.#isDue = false;
    this.#writing = this.#writing.then(() => this.#write(file));
    return this.#writing;
  }

  async #write(file: string): Promise<void> {
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.new`, JSON.stringify(this.sandboxes), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      this.#options.logger.warn("cannot note simulated pods", { error: describeError(error) });
    }
  }
}

/** The same for the same thing in every process. */
export function idOf(of: string, name: string, attempt: number): string {
  return `${of}-${name}-${attempt}`;
}
