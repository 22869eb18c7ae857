import type { ServerResponse } from "node:http";
import { type Clock, describeError, type Logger } from "@fjord/base";

export interface SendLogOptions {
  /** How long a client may leave an answer unread. */
  stallMs: number;
  clock: Clock;
  log: Logger;
}

/**
 * Sends a log as it comes, no faster than the client takes it. A failure cuts the answer off. Its end is sent by itself:
 * what comes together with the end, API servers lose on its way to a WebSocket.
 */
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
      await written(response, chunk, stallMs, clock);
    }
    response.end();
  } catch (error) {
    if (!response.destroyed) log.warn("a log was cut off", { error: describeError(error) });
    response.destroy();
  }
}

function written(response: ServerResponse, chunk: Uint8Array, stallMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(stallMs, () => response.destroy());
    const done = () => {
      stop();
      response.off("close", done);
      resolve();
    };
    response.on("close", done);
    response.write(chunk, done);
  });
}
