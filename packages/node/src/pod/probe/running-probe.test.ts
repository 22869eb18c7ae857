import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import fc from "fast-check";
import type { Probe } from "../pod-containers.ts";
import { ProbeTally } from "./probe-tally.ts";
import { RunningProbe } from "./running-probe.ts";

test("a verdict takes as many tries in a row as its threshold says", () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean()),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      (tries, success, failure) => {
        const tally = new ProbeTally({ success, failure });
        let expected: boolean | undefined;
        tries.forEach((passed, index) => {
          const before = expected;
          const needed = passed ? success : failure;
          const row = tries.slice(Math.max(0, index + 1 - needed), index + 1);
          if (row.length === needed && row.every((other) => other === passed)) expected = passed;
          assert.equal(tally.count(passed), expected !== before);
          assert.equal(tally.verdict, expected);
        });
      },
    ),
  );
});

function run(clock: ManualClock, probe: Probe, attempt: (signal: AbortSignal) => Promise<boolean>) {
  const tries: number[] = [];
  const began = clock.now();
  const running = new RunningProbe({
    probe,
    startedAt: began,
    attempt: async (signal) => {
      tries.push((clock.now() - began) / 1000);
      return { outcome: (await attempt(signal)) ? "success" : "failure", message: "" };
    },
    onResult: () => {},
    onVerdict: () => {},
    clock,
  });
  return { running, tries };
}

test("tries begin after the initial delay and come once a period", async () => {
  const clock = new ManualClock();
  const { running, tries } = run(clock, { initialDelaySeconds: 5, periodSeconds: 3 }, async () => true);
  await clock.advance(12_000);
  assert.deepEqual(tries, [5, 8, 11]);
  running.stop();
  await clock.advance(10_000);
  assert.equal(tries.length, 3);
  assert.equal(clock.pending, 0);
});

test("a try that takes too long is given up, and the next is not late for it", async () => {
  const clock = new ManualClock();
  const { running, tries } = run(clock, { periodSeconds: 5, timeoutSeconds: 2, failureThreshold: 1 }, (signal) => {
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(false)));
  });
  await clock.advance(11_000);
  assert.deepEqual(tries, [0, 5, 10]);
  assert.equal(running.verdict, false);
  running.stop();
});
