import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { LogStream } from "../../logs/cri-log.ts";

/** As long as the date of a record, which no other record of a log has. */
const DATE_LENGTH = 30;

/**
 * Files with the ends of containers' outputs that the runtime has left unread, until they are in the logs: as they were read
 * (`ID-stdout`, `ID-stderr`), and as they are to be added to the log (`ID-records`).
 */
export class KeptOutputs {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The containers of which something is kept. */
  ids(): Set<string> {
    try {
      const names = readdirSync(this.#directory).map((name) => /^(.+)-(?:stdout|stderr|records)$/.exec(name)?.[1]);
      return new Set(names.filter((name) => name !== undefined));
    } catch {
      return new Set();
    }
  }

  /** Keeps a piece of output; gives what of it could not be kept. */
  add(id: string, stream: LogStream, piece: Buffer): Buffer {
    let at = 0;
    try {
      const descriptor = openSync(this.#file(id, stream), "a", 0o600);
      try {
        while (at < piece.length) at += writeSync(descriptor, piece, at);
      } finally {
        closeSync(descriptor);
      }
    } catch {
      // Without room here there may be some where the log is.
    }
    return piece.subarray(at);
  }

  output(id: string, stream: LogStream): Buffer {
    return this.#read(id, stream) ?? Buffer.alloc(0);
  }

  /**
   * Adds records to a log: those that an earlier process noted before it was killed, or else those that are made now. No record
   * comes twice, whenever this is cut short.
   */
  addToLog(id: string, logFile: string, make: () => Buffer): void {
    const noted = this.#read(id, "records");
    const records = noted ?? make();
    if (noted === undefined && records.length > 0) this.#note(id, records);
    appendTo(logFile, noted === undefined ? records : restOf(records, readFileSync(logFile)));
    this.remove(id);
  }

  remove(id: string): void {
    // What tells that the others were added to the log goes last.
    for (const what of ["stdout", "stderr", "records"]) rmSync(this.#file(id, what), { force: true });
  }

  #note(id: string, records: Buffer): void {
    const file = this.#file(id, "records");
    try {
      writeFileSync(`${file}.new`, records, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch {
      rmSync(`${file}.new`, { force: true });
    }
  }

  #read(id: string, what: string): Buffer | undefined {
    try {
      return readFileSync(this.#file(id, what));
    } catch {
      return undefined;
    }
  }

  #file(id: string, what: string): string {
    return join(this.#directory, `${id}-${what}`);
  }
}

/** What is missing of records at the end of a log to which they may have been added, or some of them. */
export function restOf(records: Buffer, log: Buffer): Buffer {
  const found = log.indexOf(records.subarray(0, DATE_LENGTH));
  if (found >= 0) return records.subarray(log.length - found);
  for (let length = Math.min(DATE_LENGTH, log.length); length > 0; length--) {
    if (log.subarray(-length).equals(records.subarray(0, length))) return records.subarray(length);
  }
  return records;
}

export function appendTo(logFile: string, records: Buffer): void {
  if (records.length === 0) return;
  const descriptor = openSync(logFile, constants.O_WRONLY | constants.O_APPEND);
  try {
    for (let at = 0; at < records.length; ) at += writeSync(descriptor, records, at);
  } finally {
    closeSync(descriptor);
  }
}
