/** One record of a log in the format of the container runtime interface: `<time> <stream> <tag> <content>`. */
export interface LogRecord {
  /** RFC 3339, as written. */
  readonly time: Buffer;
  readonly stream: "stdout" | "stderr";
  /** The line goes on in the stream's next record. */
  readonly partial: boolean;
  readonly content: Buffer;
}

const SPACE = 0x20;
const COLON = 0x3a;
/** A time takes 35 bytes at most, a stream 6, and nobody writes more than a few tags. */
export const LONGEST_HEADER = 128;

/** Undefined for what is no record: the rest of a write that was cut off, for example. */
export function parseRecord(line: Buffer): LogRecord | undefined {
  const timeEnd = line.indexOf(SPACE);
  if (timeEnd < 20 || timeEnd > 40) return undefined;
  const stream = streamAt(line, timeEnd + 1);
  if (stream === undefined) return undefined;
  const tagStart = timeEnd + 2 + stream.length;
  const tag = String.fromCharCode(line[tagStart] ?? 0);
  if (line[tagStart - 1] !== SPACE || (tag !== "P" && tag !== "F")) return undefined;
  const tagEnd = line[tagStart + 1] === COLON ? line.indexOf(SPACE, tagStart) : tagStart + 1;
  // An empty content may come without the space before it.
  if (tagEnd !== line.length && line[tagEnd] !== SPACE) return undefined;
  return { time: line.subarray(0, timeEnd), stream, partial: tag === "P", content: line.subarray(tagEnd + 1) };
}

function streamAt(line: Buffer, start: number): LogRecord["stream"] | undefined {
  const name = line.toString("latin1", start, start + 6);
  return name === "stdout" || name === "stderr" ? name : undefined;
}

/** Milliseconds since the epoch. */
export function recordTime({ time }: LogRecord): number {
  return Date.parse(time.toString("latin1"));
}

/** A record as runtimes write it. */
export function formatRecord(time: string, stream: LogRecord["stream"], partial: boolean, content: string): string {
  return `${time} ${stream} ${partial ? "P" : "F"} ${content}\n`;
}
