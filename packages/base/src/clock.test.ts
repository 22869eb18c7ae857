import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep, systemClock } from "./clock.ts";
import { ManualClock } from "./manual-clock.ts";

test("the system clock calls back after the time, and not once cancelled", async () => {
  const called: string[] = [];
  systemClock.after(1, () => called.push("cancelled"))();
  const started = performance.now();
  await new Promise<void>((resolve) => systemClock.after(20, resolve));
  assert.deepEqual(called, []);
  assert.ok(performance.now() - started >= 19);
  assert.ok(Math.abs(systemClock.now() - Date.now()) < 1000);
});

test("the system clock waits longer than a single timer can, and calls back once", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const longest = 2 ** 31 - 1;
  let calls = 0;
  systemClock.after(3e9, () => calls++);
  const cancel = systemClock.after(3e9, () => assert.fail("cancelled"));
  systemClock.after(Number.POSITIVE_INFINITY, () => assert.fail("for ever"));
  t.mock.timers.tick(longest);
  assert.equal(calls, 0);
  cancel();
  t.mock.timers.tick(3e9 - longest - 1);
  assert.equal(calls, 0);
  t.mock.timers.tick(1);
  assert.equal(calls, 1);
  t.mock.timers.tick(longest);
  assert.equal(calls, 1);
});

test("less than nothing is nothing, and what is no number is refused", async () => {
  for (const clock of [systemClock, new ManualClock()]) {
    for (const ms of [Number.NaN, undefined, "1"]) {
      assert.throws(() => clock.after(ms as number, () => assert.fail()), { code: "INVALID_DELAY" });
    }
  }
  await new Promise<void>((resolve) => systemClock.after(Number.NEGATIVE_INFINITY, resolve));
  const clock = new ManualClock();
  let called = false;
  clock.after(-5, () => {
    called = true;
  });
  await clock.advance(0);
  assert.equal(called, true);
});

test("sleep ends when its time has come", async () => {
  const clock = new ManualClock();
  let awake = false;
  const sleeping = sleep(clock, 100).then(() => {
    awake = true;
  });
  await clock.advance(99);
  assert.equal(awake, false);
  await clock.advance(1);
  await sleeping;
});

test("sleep ends at once on abort, and leaves no timer and no listener behind", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const sleeping = sleep(clock, 100, stop.signal);
  assert.equal(clock.pending, 1);
  stop.abort();
  await sleeping;
  assert.equal(clock.pending, 0);
  await sleep(clock, 100, stop.signal);
  assert.equal(clock.pending, 0);
});

test("a sleep that ran its time no longer listens to its signal", async () => {
  const clock = new ManualClock();
  const signal = new AbortController().signal;
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  const sleeping = sleep(clock, 100, signal);
  assert.equal(listeners, 1);
  await clock.advance(100);
  await sleeping;
  assert.equal(listeners, 0);
});
