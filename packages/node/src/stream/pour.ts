import type { Readable, Writable } from "node:stream";

/**
 * Writes all that a stream gives to another, no faster than that takes it, and resolves when either has ended; with
 * what went wrong on the reading side, if anything did. Ends nothing; a source that nobody takes any more is destroyed.
 */
export async function pour(source: Readable, sink: Writable): Promise<Error | undefined> {
  try {
    for await (const chunk of source) {
      if (!sink.writable) return undefined;
      if (!sink.write(chunk)) await drained(sink);
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Resolves when all that was written has been taken, or never will be. */
export function finished(sink: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (sink.writableFinished || sink.destroyed) return resolve();
    for (const event of ["finish", "close", "error"]) sink.once(event, () => resolve());
  });
}

function drained(sink: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (sink.destroyed || !sink.writableNeedDrain) return resolve();
    const events = ["drain", "close", "error"];
    const done = () => {
      for (const event of events) sink.off(event, done);
      resolve();
    };
    for (const event of events) sink.on(event, done);
  });
}
