import assert from "node:assert/strict";
import { test } from "node:test";
import { stopSignalNumber } from "./stop-signal.ts";

test("signals have CRI's numbers, which are not the kernel's", () => {
  assert.equal(stopSignalNumber(undefined), 0);
  assert.equal(stopSignalNumber("SIGABRT"), 1);
  assert.equal(stopSignalNumber("SIGKILL"), 13);
  assert.equal(stopSignalNumber("SIGTERM"), 23);
  assert.equal(stopSignalNumber("SIGUSR1"), 29);
  assert.equal(stopSignalNumber("SIGRTMIN"), 35);
  assert.equal(stopSignalNumber("SIGRTMIN+15"), 50);
  assert.equal(stopSignalNumber("SIGRTMAX-14"), 51);
  assert.equal(stopSignalNumber("SIGRTMAX-1"), 64);
  assert.equal(stopSignalNumber("SIGRTMAX"), 65);
});
