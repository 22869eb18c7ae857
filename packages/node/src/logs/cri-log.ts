export type LogStream = "stdout" | "stderr";

/** Longer lines are written in parts, as other runtimes do. */
const LONGEST_PART = 16 * 1024;
const NEWLINE = 10;
const SPACE = 32;

/** Dates records of a log: never twice the same, never backwards. */
export class LogTime {
  #milliseconds = -1;
  #nanoseconds = 0;
  #prefix = "";

  /** The text for a record that came at `time`, or just after the record before it. */
  next(time: number): string {
    const whole = Math.floor(time);
    if (whole > this.#milliseconds) {
      this.#milliseconds = whole;
      this.#nanoseconds = 0;
      this.#prefix = new Date(whole).toISOString().slice(0, -1);
    } else if (this.#nanoseconds < 999_999) {
      this.#nanoseconds++;
    } else {
      return this.next(this.#milliseconds + 1);
    }
    return `${this.#prefix}${String(this.#nanoseconds).padStart(6, "0")}Z`;
  }
}

/**
 * Turns raw output into records. What follows the last newline is left for later, unless it is too long for one record,
 * or `ended` says that nothing will follow.
 */
export function toRecords(
  raw: Buffer,
  stream: LogStream,
  time: () => string,
  ended = false,
): { records: Buffer; consumed: number } {
  // One buffer for all records: three for each line would cost far more memory than the output itself.
  let out = Buffer.allocUnsafe(raw.length + 4096);
  let size = 0;
  let at = 0;
  const add = (end: number, tag: "F" | "P") => {
    const header = `${time()} ${stream} ${tag} `;
    const needed = size + header.length + (end - at) + 1;
    if (needed > out.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, out.length * 2));
      out.copy(larger, 0, 0, size);
      out = larger;
    }
    size += out.write(header, size, "latin1");
    size += raw.copy(out, size, at, end);
    out[size++] = NEWLINE;
  };
  while (at < raw.length) {
    const found = raw.indexOf(NEWLINE, at);
    const end = found < 0 ? raw.length : found;
    if (end - at > LONGEST_PART || (found < 0 && end - at === LONGEST_PART)) {
      add(at + LONGEST_PART, "P");
      at += LONGEST_PART;
    } else if (found >= 0) {
      add(end, "F");
      at = end + 1;
    } else {
      if (!ended) break;
      add(end, "F");
      at = end;
    }
  }
  return { records: out.subarray(0, size), consumed: at };
}

export interface RawCounts {
  stdout: number;
  stderr: number;
}

/** How much raw output whole records stand for, and where the last whole one ends. The opposite of `toRecords`. */
export function countRaw(log: Buffer): { counts: RawCounts; whole: number } {
  const counts: RawCounts = { stdout: 0, stderr: 0 };
  let at = 0;
  for (;;) {
    const end = log.indexOf(NEWLINE, at);
    if (end < 0) return { counts, whole: at };
    const stream = log.indexOf(SPACE, at) + 1;
    const tag = log.indexOf(SPACE, stream) + 1;
    const content = log.indexOf(SPACE, tag) + 1;
    if (stream > at && tag > stream && content > tag && content <= end) {
      const name = log.toString("latin1", stream, tag - 1);
      const newline = log[tag] === "F".charCodeAt(0) ? 1 : 0;
      if (name === "stdout" || name === "stderr") counts[name] += end - content + newline;
    }
    at = end + 1;
  }
}
