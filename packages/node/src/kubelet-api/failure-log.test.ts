import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { FailureLog } from "./failure-log.ts";

test("a thousand requests that fail are a few lines, and the next one tells how many it stands for", async () => {
  const clock = new ManualClock();
  const lines: LogFields[] = [];
  const log = new FailureLog({ ...silentLogger, warn: (_, fields = {}) => void lines.push(fields) }, clock);
  for (let request = 0; request < 1000; request++) log.failed("a request failed", "nobody knows the token");
  assert.equal(lines.length, 5);
  await clock.advance(10_000);
  log.failed("a request failed", "nobody knows the token");
  assert.deepEqual(lines[5], { error: "nobody knows the token", unlogged: 995 });
});
