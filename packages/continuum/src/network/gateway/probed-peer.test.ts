import assert from "node:assert/strict";
import { test } from "node:test";
import { OFTEN_MS, ProbedPeer } from "./probed-peer.ts";

test("one that is late is asked again soon, though most of its few answers had to wait for WireGuard to begin", () => {
  const peer = new ProbedPeer("fe80::1", 1420, () => 0.5);
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
