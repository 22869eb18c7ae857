import type { FileHandle } from "node:fs/promises";
import { LONGEST_HEADER, type LogRecord, parseRecord } from "./log-record.ts";

const NEWLINE = 0x0a;
const BLOCK = 64 * 1024;

/** Where the last lines of a file begin, and how many of those wanted it does not have. */
export interface TailPosition {
  readonly offset: number;
  readonly missing: number;
}

/** Looks for the beginning of the last `lines` lines of the first `size` bytes, backwards. Lines may have come in parts. */
export async function tailPosition(
  handle: FileHandle,
  size: number,
  lines: number,
  stream?: LogRecord["stream"],
): Promise<TailPosition> {
  const tail = new TailCounter(lines, stream, size);
  let head: Buffer = Buffer.alloc(0);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK);
    const block = await readFully(handle, start, end - start);
    if (end === size) tail.unfinished = block.at(-1) !== NEWLINE;
    const text = Buffer.concat([block, head]);
    for (let at = block.lastIndexOf(NEWLINE); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1)) {
      const begin = start + at + 1;
      if (begin < size && tail.passes(text.subarray(at + 1, at + 1 + LONGEST_HEADER), begin)) return tail.position();
    }
    head = Buffer.from(text.subarray(0, LONGEST_HEADER));
    end = start;
  }
  if (size > 0 && tail.passes(head, 0)) return tail.position();
  return { offset: 0, missing: tail.missing };
}

/** Counts lines by their last records, from the end of a file backwards. */
class TailCounter {
  readonly #lines: number;
  readonly #stream: LogRecord["stream"] | undefined;
  #count = 0;
  #start: number;
  /** Whether the next record is one that is still being written: it is shown in any case. */
  unfinished = false;

  constructor(lines: number, stream: LogRecord["stream"] | undefined, size: number) {
    this.#lines = lines;
    this.#stream = stream;
    this.#start = size;
  }

  get missing(): number {
    return this.#lines - this.#count;
  }

  /** Takes the record at `begin`; true where it belongs to a line too many. */
  passes(text: Buffer, begin: number): boolean {
    if (this.unfinished) {
      this.unfinished = false;
      this.#start = begin;
      return false;
    }
    const newline = text.indexOf(NEWLINE);
    const record = parseRecord(newline < 0 ? text : text.subarray(0, newline));
    const counts = record !== undefined && (this.#stream === undefined || record.stream === this.#stream);
    // What has no end yet is a line of its own.
    if (counts && (!record.partial || this.#count === 0)) {
      if (this.#count === this.#lines) return true;
      this.#count++;
    }
    this.#start = begin;
    return false;
  }

  position(): TailPosition {
    return { offset: this.#start, missing: 0 };
  }
}

async function readFully(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, start + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}
