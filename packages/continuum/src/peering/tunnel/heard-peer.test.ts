import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { HeardPeer } from "./heard-peer.ts";

function start() {
  const clock = new ManualClock();
  const stop = new AbortController();
  const peer = new HeardPeer(clock, stop.signal);
  let silences = 0;
  peer.onSilence(() => silences++);
  const taken = Object.assign(new EventEmitter(), { bytesRead: 0 });
  peer.listenTo(taken as unknown as Socket);
  return { clock, stop, taken, silences: () => silences };
}

describe("a peer that is listened to", () => {
  test("is silent once, when it has spoken and ceases to", async () => {
    const { clock, taken, silences } = start();
    for (let i = 0; i < 5; i++) {
      taken.bytesRead += 100;
      await clock.advance(2_000);
    }
    assert.equal(silences(), 0);
    await clock.advance(10_000);
    assert.equal(silences(), 1);
    taken.bytesRead += 100;
    await clock.advance(4_000);
    assert.equal(silences(), 2);
  });

  test("is not silent for having closed one connection and opened another", async () => {
    const { clock, taken, silences } = start();
    taken.bytesRead = 100;
    await clock.advance(2_000);
    taken.bytesRead = 200;
    taken.emit("close");
    await clock.advance(2_000);
    assert.equal(silences(), 0);
  });

  test("that never spoke is never silent, and nothing is left when it ends", async () => {
    const { clock, stop, silences } = start();
    await clock.advance(60_000);
    assert.equal(silences(), 0);
    stop.abort();
    assert.equal(clock.pending, 0);
  });
});
