import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { type Clock, describeError, type Logger } from "@fjord/base";

export interface AuditLogOptions {
  /** A file, added to; `-` for standard output. */
  readonly path: string;
  /** "blocking": what is answered has been written down. "batch": a second's events at once. */
  readonly mode: "blocking" | "batch";
  readonly clock: Clock;
  readonly logger: Logger;
}

const GATHER_MS = 1_000;
const MOST_GATHERED = 400;
const STANDARD_OUTPUT = 1;

/** One line of JSON for each event. A log that cannot be written to does not keep the server from serving. */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #file: number;
  readonly #gathered: string[] = [];
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#file = options.path === "-" ? STANDARD_OUTPUT : openSync(options.path, "a", 0o600);
  }

  write(event: object): void {
    if (this.#isClosed) return;
    this.#gathered.push(`${JSON.stringify(event)}\n`);
    const { mode, clock } = this.#options;
    if (mode === "blocking" || this.#gathered.length >= MOST_GATHERED) this.#flush();
    else this.#cancel ??= clock.after(GATHER_MS, () => this.#flush());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    if (this.#file === STANDARD_OUTPUT) return;
    fsyncSync(this.#file);
    closeSync(this.#file);
  }

  #flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#gathered.length === 0) return;
    const bytes = Buffer.from(this.#gathered.splice(0).join(""));
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    } catch (error) {
      const { path, logger } = this.#options;
      logger.error("audit events are lost", { path, error: describeError(error) });
    }
  }
}
