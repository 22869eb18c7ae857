import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { END_FRAME, FrameReader, frameHeader } from "./frames.ts";

export interface CarryCounters {
  sent(bytes: number): void;
  received(bytes: number): void;
}

export interface CarryLimits {
  /** How long nothing may move where one direction has ended: a client that is gone looks the same as one that waits. */
  readonly halfClosedMs: number;
  /** How long nothing may move where somebody does not take what is there for him. */
  readonly heldBackMs: number;
}

export const CARRY_LIMITS: CarryLimits = { halfClosedMs: 300_000, heldBackMs: 3_600_000 };

/**
 * Joins a connection of this machine with a carrier to another site. Whoever is slow holds back who sends to it; an end is passed on
 * for its direction alone; what breaks on one side is reset on the other. Resolves when the one of this machine is closed, which no peer can
 * put off for ever: one that is open takes a place and a file descriptor, whatever has been said over it. With true where both directions have
 * ended in order: the carrier is paused then, and may carry the next one; else it is closed too.
 */
export function carry(
  local: Socket,
  carrier: Duplex,
  counters: CarryCounters,
  limits: CarryLimits = CARRY_LIMITS,
): Promise<boolean> {
  return new Promise((resolve) => {
    const frames = new FrameReader();
    let hasSentEnd = false;
    let isOver = false;
    let moved = 0;
    let isClean = false;
    const cut = () => {
      carrier.destroy();
      if (!local.destroyed) local.resetAndDestroy();
    };
    const finish = (inOrder: boolean) => {
      if (isOver) return;
      isOver = true;
      if (inOrder) {
        // Both directions have ended: what is still to be written goes first.
        isClean = true;
        local.destroySoon();
      } else cut();
    };
    const isIdle = idleness(() =>
      [moved, hasSentEnd, frames.ended, local.writableLength, carrier.writableLength].join(),
    );
    const watch = setInterval(() => {
      const isHeldBack = local.writableLength + carrier.writableLength > 0;
      const isHalfClosed = hasSentEnd || frames.ended;
      const limit = isHeldBack ? limits.heldBackMs : isHalfClosed ? limits.halfClosedMs : Number.POSITIVE_INFINITY;
      if (!isIdle(limit)) return;
      isOver = true;
      isClean = false;
      cut();
    }, Math.min(limits.halfClosedMs, limits.heldBackMs) / 5).unref();
    const resolveIfClosed = () => {
      if (!local.closed || (!isClean && !carrier.closed)) return;
      clearInterval(watch);
      carrier.pause();
      for (const [event, listener] of Object.entries(ofCarrier)) carrier.off(event, listener);
      resolve(isClean && !carrier.destroyed);
    };
    const finishIfEnded = () => {
      if (hasSentEnd && frames.ended) finish(true);
    };

    local.on("data", (chunk: Buffer) => {
      moved += chunk.length;
      counters.sent(chunk.length);
      carrier.cork();
      carrier.write(frameHeader(chunk.length));
      const goesOn = carrier.write(chunk);
      carrier.uncork();
      if (!goesOn) local.pause();
    });
    local.once("end", () => {
      hasSentEnd = true;
      if (!isOver) carrier.write(END_FRAME);
      finishIfEnded();
    });

    local.on("drain", () => carrier.resume());
    local.on("error", () => finish(false));
    local.once("close", () => {
      finish(false);
      resolveIfClosed();
    });
    const ofCarrier = {
      data: (chunk: Buffer) => {
        // Nothing may come before the next one is asked for.
        if (isClean) carrier.destroy();
        if (isOver) return;
        try {
          for (const piece of frames.read(chunk)) {
            moved += piece.length;
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
      },
      drain: () => local.resume(),
      error: () => finish(false),
      // A carrier ends as a whole: before both directions have ended it is broken.
      end: () => (isClean ? carrier.destroy() : finish(false)),
      close: () => {
        finish(false);
        resolveIfClosed();
      },
    };
    for (const [event, listener] of Object.entries(ofCarrier)) carrier.on(event, listener);
    if (local.destroyed || carrier.destroyed) finish(false);
    resolveIfClosed();
    local.resume();
    carrier.resume();
  });
}

/** Tells whether what `state` says has been the same for so long, as far as it was asked. */
function idleness(state: () => string): (ms: number) => boolean {
  let before = "";
  let since = performance.now();
  return (ms) => {
    const now = state();
    if (now !== before) since = performance.now();
    before = now;
    return performance.now() - since >= ms;
  };
}
