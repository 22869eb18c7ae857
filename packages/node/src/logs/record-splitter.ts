import { type LogRecord, parseRecord } from "./log-record.ts";

const NEWLINE = 0x0a;
/** A record longer than this is handed on in parts. */
const LONGEST_RECORD = 1024 * 1024;

/** Finds the records in a log, however it is read. */
export class RecordSplitter {
  #rest: Buffer = Buffer.alloc(0);
  /** The record of which the beginning was handed on already. */
  #long: LogRecord | undefined;

  /** The records that are whole. They refer to the chunk's memory. */
  push(chunk: Buffer): LogRecord[] {
    const records: LogRecord[] = [];
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE)) {
      this.#take(data.subarray(0, end), false, records);
      data = data.subarray(end + 1);
    }
    if (data.length > LONGEST_RECORD) {
      this.#take(data, true, records);
      data = Buffer.alloc(0);
    }
    this.#rest = Buffer.from(data);
    return records;
  }

  /** What a write that was cut off has left. */
  end(): LogRecord[] {
    const records: LogRecord[] = [];
    if (this.#rest.length > 0) this.#take(this.#rest, false, records);
    this.#rest = Buffer.alloc(0);
    this.#long = undefined;
    return records;
  }

  #take(line: Buffer, unfinished: boolean, records: LogRecord[]): void {
    const record = this.#long === undefined ? parseRecord(line) : { ...this.#long, content: line };
    if (record === undefined) return;
    records.push(unfinished ? { ...record, partial: true } : record);
    this.#long = unfinished ? record : undefined;
  }
}
