import type { Duplex } from "node:stream";
import { frameHeader } from "./frames.ts";

/** Of a question or an answer over a stream. */
const LONGEST_MESSAGE = 32 * 1024;
const HEADER = 4;

export function writeMessage(stream: Duplex, text: string): void {
  const body = Buffer.from(text);
  stream.write(Buffer.concat([frameHeader(body.length), body]));
}

/**
 * The next message of a stream that nobody else reads now. Undefined where it ends before, says something else, or lets the time pass:
 * then it is closed. It is paused afterwards, and what has come behind the message is still to be read.
 */
export function readMessage(stream: Duplex, ms: number, signal?: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    let read: Buffer = Buffer.alloc(0);
    const finish = (text: string | undefined) => {
      clearTimeout(giveUp);
      stream.off("data", onData).off("end", onGone).off("close", onGone).off("error", onGone);
      signal?.removeEventListener("abort", onGone);
      if (text === undefined) stream.destroy();
      else stream.pause();
      resolve(text);
    };
    const onGone = () => finish(undefined);
    const onData = (chunk: Buffer) => {
      read = read.length === 0 ? chunk : Buffer.concat([read, chunk]);
      if (read.length < HEADER) return;
      const length = read.readUInt32BE();
      if (length === 0 || length > LONGEST_MESSAGE) return onGone();
      if (read.length < HEADER + length) return;
      const rest = read.subarray(HEADER + length);
      finish(read.toString("utf8", HEADER, HEADER + length));
      if (rest.length > 0) stream.unshift(rest);
    };
    const giveUp = setTimeout(onGone, ms).unref();
    stream.on("data", onData).on("end", onGone).on("close", onGone).on("error", onGone);
    signal?.addEventListener("abort", onGone, { once: true });
    if (stream.destroyed || signal?.aborted) return onGone();
    stream.resume();
  });
}
