import type { ServerResponse } from "node:http";
import { type Clock, describeError, type Logger } from "@fjord/base";

export interface SendLogOptions {
  /** How long a client may leave an answer unread. */
  stallMs: number;
  clock: Clock;
  log: Logger;
}

/** Sends a log as it comes, no faster than the client takes it. A failure cuts the answer off. */
export async function sendLog(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
  { stallMs, clock, log }: SendLogOptions,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/plain", "x-content-type-options": "nosniff" });
  response.flushHeaders();
  try {
    for await (const chunk of chunks) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response, stallMs, clock);
    }
    response.end();
  } catch (error) {
    if (!response.destroyed) log.warn("a log was cut off", { error: describeError(error) });
    response.destroy();
  }
}

function drained(response: ServerResponse, stallMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(stallMs, () => response.destroy());
    const done = () => {
      stop();
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
    if (response.destroyed || !response.writableNeedDrain) done();
  });
}
