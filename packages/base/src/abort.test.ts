import assert from "node:assert/strict";
import { test } from "node:test";
import { aborted, onAbort } from "./abort.ts";

test("calls back once, on abort", () => {
  const stop = new AbortController();
  let calls = 0;
  onAbort(stop.signal, () => calls++);
  assert.equal(calls, 0);
  stop.abort();
  stop.abort();
  assert.equal(calls, 1);
});

test("calls back at once for a signal that has aborted", () => {
  let calls = 0;
  onAbort(AbortSignal.abort(), () => calls++);
  assert.equal(calls, 1);
});

test("calls nothing that was taken back", () => {
  const stop = new AbortController();
  onAbort(stop.signal, () => assert.fail("was taken back"))();
  stop.abort();
});

test("aborted resolves on abort, before or after it was asked", async () => {
  const stop = new AbortController();
  const waiting = aborted(stop.signal);
  stop.abort();
  await waiting;
  await aborted(stop.signal);
});
