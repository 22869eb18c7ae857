import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { OFTEN_MS, ProbedPeer } from "./probed-peer.ts";

describe("A peer that is asked over a lane", () => {
  let peer: ProbedPeer;
  let number: number;
  /** Asks at a moment; it answers so much later, or not at all. */
  const ask = (now: number, afterMs?: number, everyMs = 1_000) => {
    const isAgain = peer.ask(everyMs, now);
    peer.wait(++number, { sentAt: now, isAgain });
    if (afterMs !== undefined) peer.answered(number, 64, everyMs, now + afterMs, now + afterMs);
    return isAgain;
  };

  beforeEach(() => {
    // In the middle: nothing is earlier or later than it should be.
    peer = new ProbedPeer("fe80::1", 1380, () => 0.5);
    number = 0;
  });

  it("is due at once, and nothing is known of it", () => {
    assert.equal(peer.dueAt, Number.NEGATIVE_INFINITY);
    assert.deepEqual([peer.seen, peer.signs, peer.heardAt], [{}, undefined, undefined]);
  });

  it("is asked again in its time where it has never answered, and is not missed", () => {
    ask(0);
    assert.equal(peer.dueAt, 1_000);
    ask(1_000);
    assert.equal(peer.isMissed(10_000), false);
    assert.deepEqual(peer.signs, { askedSince: 0, unanswered: 2, unansweredSince: 0 });
  });

  it("is asked every second when it answers, and known by how soon it does", () => {
    for (let i = 0; i < 3; i++) ask(1_000 * (i + 1), [10, 30, 20][i]);
    assert.deepEqual(peer.seen, { latencyMs: 20, lossPercent: 0 });
    assert.deepEqual([peer.heardAt, peer.dueAt], [3_020, 4_020]);
    assert.deepEqual(peer.signs, { askedSince: 1_000, unanswered: 0, heardAt: 3_020 });
  });

  it("is asked again soon when an answer is late, for four seconds", () => {
    ask(1_000, 10);
    assert.equal(ask(2_000), false);
    assert.deepEqual([peer.dueAt, peer.isMissed(2_399), peer.isMissed(2_400)], [2_400, false, true]);
    assert.equal(ask(2_400), true);
    assert.equal(peer.dueAt, 2_550);
    assert.equal(peer.isMissed(5_010), false, "it is no longer late, but silent");
    assert.equal(ask(5_010), false);
    assert.equal(peer.dueAt, 6_010);
  });

  it("is given twice its usual time where that is longer", () => {
    ask(1_000, 600);
    ask(3_000);
    assert.equal(peer.dueAt, 4_200);
  });

  it("has lost what is not answered within two seconds, but not what was asked for again", () => {
    ask(1_000, 10);
    ask(2_000);
    ask(2_400);
    peer.giveUp(3_999, 3_999);
    assert.equal(peer.seen.lossPercent, 0);
    peer.giveUp(5_000, 5_000);
    assert.equal(peer.seen.lossPercent, 50);
  });

  it("has lost nothing before it has ever answered: it may not be there yet", () => {
    ask(0);
    peer.giveUp(5_000, 5_000);
    ask(5_000, 10);
    assert.deepEqual(peer.seen, { latencyMs: 10, lossPercent: 0 });
  });

  it("tells by an answer of the same size how large a packet may be, and by a smaller one nothing", () => {
    assert.equal(peer.nextSize(0), undefined, "first it has to answer at all");
    ask(1_000, 10);
    const size = peer.nextSize(1_010) ?? 0;
    assert.equal(size, 1380);
    peer.wait(50, { sentAt: 1_010, size });
    assert.equal(peer.answered(50, 1_000, 1_000, 1_020, 1_020), undefined);
    assert.equal(peer.seen.mtu, undefined);
    peer.wait(51, { sentAt: 1_020, size });
    peer.answered(51, size, 1_000, 1_030, 1_030);
    assert.equal(peer.seen.mtu, 1380);
  });

  it("says nothing by answers that nobody waits for", () => {
    ask(1_000, 10);
    assert.equal(peer.answered(1, 64, 1_000, 1_500, 1_500), undefined, "it was answered before");
    assert.equal(peer.heardAt, 1_010);
  });

  it("need not be asked as long as it asks, and says that it is answered", () => {
    const pace = { everyMs: 1_000, seldomMs: 5_000 };
    ask(1_000, 10);
    peer.told(100, pace, 1_900);
    assert.deepEqual([peer.heardAt, peer.dueAt], [1_800, 3_100]);
    peer.told(100, pace, 6_100);
    assert.equal(peer.dueAt, 3_100, "how long it takes is known only by own questions");
  });

  it("is asked at once when it says that it has heard nothing for longer than it should", () => {
    ask(1_000, 10);
    peer.told(1_500, { everyMs: 1_000, seldomMs: 5_000 }, 2_600);
    assert.equal(peer.dueAt, 2_600);
    assert.deepEqual(peer.signs, { askedSince: 1_000, unanswered: 1, unansweredSince: 2_100, heardAt: 1_100 });
  });

  it("does not wait for what was arranged when it is to be asked more often, or in a hurry", () => {
    ask(0, undefined, 5_000);
    assert.equal(peer.dueAt, 5_000);
    peer.keepPace(500, 100);
    assert.equal(peer.dueAt, 750);
    peer.hurry();
    assert.equal(peer.dueAt, Number.NEGATIVE_INFINITY);
  });

  it("is not heard beyond what anybody has to say in a second", () => {
    const heard = Array.from({ length: 300 }, () => peer.isTooMuch(500)).filter((isTooMuch) => !isTooMuch);
    assert.equal(heard.length, 200);
    assert.deepEqual([peer.isTooMuch(1_499), peer.isTooMuch(1_500)], [true, false]);
  });

  it("is asked again soon when it is late, though most of its few answers had to wait for WireGuard to begin", () => {
    let now = 0;
    for (const [number, latencyMs] of [1_200, 1_250, 3].entries()) {
      peer.ask(OFTEN_MS, now);
      peer.wait(number, { sentAt: now });
      peer.answered(number, 64, OFTEN_MS, now + latencyMs, now + latencyMs);
      now += 5_000;
    }
    assert.equal(peer.seen.latencyMs, 1_200);
    peer.told(0, { everyMs: OFTEN_MS, seldomMs: 5_000 }, now);
    now += OFTEN_MS;
    const asked = now;
    const times = [];
    for (; now < asked + 1_500; now += 50)
      if (times.length === 0 || now >= peer.dueAt) {
        peer.ask(OFTEN_MS, now);
        times.push(now - asked);
      }
    assert.deepEqual(times.slice(0, 5), [0, 400, 550, 700, 850]);
  });
});
