import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { ChildSeconds, childSeconds, idleShare } from "./processors.ts";

test("what ended children took is read whatever the program is called", () => {
  const rest = "S 1 2 3 0 -1 4194304 1 2 3 4 11 12 250 50 20 0 11 0 100";
  assert.equal(childSeconds(`7 (node) ${rest}`), 3);
  assert.equal(childSeconds(`7 (a) b (c) ${rest}`), 3);
});

test("a child that computes is seen by what it took, and counted once", { skip: process.platform !== "linux" }, () => {
  const seconds = new ChildSeconds();
  spawnSync(process.execPath, ["-e", "while (process.cpuUsage().user < 100_000);"]);
  assert.ok((seconds.next() ?? 0) >= 0.09);
  assert.equal(seconds.next(), 0);
});

test("processors are idle for the share of the time in which none of them had to do", () => {
  const times = (idle: number, user: number) => ({ times: { idle, user, nice: 0, sys: 0, irq: 0 } });
  assert.equal(idleShare([times(0, 0), times(0, 0)], [times(100, 0), times(0, 100)]), 0.5);
  assert.equal(idleShare([times(50, 50)], [times(75, 125)]), 0.25);
  assert.equal(idleShare([times(50, 50)], [times(50, 50)]), 0);
});
