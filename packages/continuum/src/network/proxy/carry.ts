import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { END_FRAME, FrameReader, frameHeader } from "./frames.ts";

export interface CarryCounters {
  sent(bytes: number): void;
  received(bytes: number): void;
}

/**
 * Joins a connection of this machine with a carrier to another site. Whoever is slow holds back who sends to it; an end is passed on
 * for its direction alone; what breaks on one side is reset on the other. Resolves when it is over.
 */
export function carry(local: Socket, carrier: Duplex, counters: CarryCounters): Promise<void> {
  return new Promise((resolve) => {
    const frames = new FrameReader();
    let hasSentEnd = false;
    let isOver = false;
    const finish = (inOrder: boolean) => {
      if (isOver) return;
      isOver = true;
      if (inOrder) {
        // Both directions have ended: what is still to be written goes first.
        local.destroySoon();
        carrier.end();
        // The other side does the same; it is not waited for.
        carrier.resume();
      } else {
        carrier.destroy();
        if (!local.destroyed) local.resetAndDestroy();
      }
      resolve();
    };
    const finishIfEnded = () => {
      if (hasSentEnd && frames.ended) finish(true);
    };

    local.on("data", (chunk: Buffer) => {
      counters.sent(chunk.length);
      carrier.cork();
      carrier.write(frameHeader(chunk.length));
      const goesOn = carrier.write(chunk);
      carrier.uncork();
      if (!goesOn) local.pause();
    });
    carrier.on("drain", () => local.resume());
    local.once("end", () => {
      hasSentEnd = true;
      if (!isOver) carrier.write(END_FRAME);
      finishIfEnded();
    });

    carrier.on("data", (chunk: Buffer) => {
      if (isOver) return;
      try {
        for (const piece of frames.read(chunk)) {
          counters.received(piece.length);
          if (!local.write(piece)) carrier.pause();
        }
      } catch {
        finish(false);
        return;
      }
      if (!frames.ended) return;
      local.end();
      finishIfEnded();
    });
    local.on("drain", () => carrier.resume());

    local.on("error", () => finish(false));
    local.once("close", () => finish(false));
    carrier.on("error", () => finish(false));
    // A carrier ends as a whole: before both directions have ended it is broken.
    carrier.once("end", () => finish(false));
    carrier.once("close", () => finish(false));
    if (local.destroyed || carrier.destroyed) finish(false);
    local.resume();
    carrier.resume();
  });
}
