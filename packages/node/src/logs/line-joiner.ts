import type { LogRecord } from "./log-record.ts";

/** Lines of one stream are kept back for those of the other no longer than this. */
const HELD_LIMIT = 256 * 1024;
const NEWLINE = Buffer.from("\n");

/** Makes lines out of records. A line that came in parts is not torn by what the other stream wrote meanwhile. */
export class LineJoiner {
  readonly #timestamps: boolean;
  /** The stream whose line has begun and not ended. */
  #open: LogRecord["stream"] | undefined;
  #held: LogRecord[] = [];
  #heldBytes = 0;

  constructor(timestamps: boolean) {
    this.#timestamps = timestamps;
  }

  /** What is to be shown now. */
  push(record: LogRecord): Buffer[] {
    const output: Buffer[] = [];
    if (this.#open !== undefined && this.#open !== record.stream) {
      this.#held.push({ ...record, content: Buffer.from(record.content), time: Buffer.from(record.time) });
      this.#heldBytes += record.content.length + record.time.length;
      if (this.#heldBytes > HELD_LIMIT) output.push(...this.flush());
      return output;
    }
    this.#show(record, output);
    while (this.#open === undefined && this.#held.length > 0) this.#release(output);
    return output;
  }

  /** What was kept back, now that nothing may come for a while. */
  flush(): Buffer[] {
    const output: Buffer[] = [];
    while (this.#held.length > 0) {
      this.#open = undefined;
      this.#release(output);
    }
    return output;
  }

  #release(output: Buffer[]): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const record of held) output.push(...this.push(record));
  }

  #show(record: LogRecord, output: Buffer[]): void {
    if (this.#open === undefined && this.#timestamps) output.push(record.time, Buffer.from(" "));
    output.push(record.content);
    if (!record.partial) output.push(NEWLINE);
    this.#open = record.partial ? record.stream : undefined;
  }
}
