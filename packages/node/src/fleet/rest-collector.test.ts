import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { RestCollector } from "./rest-collector.ts";

test("garbage is collected once after much work, and never while work goes on", async () => {
  const clock = new ManualClock();
  const end = new AbortController();
  let work = 0;
  let collections = 0;
  const done = new RestCollector({ work: () => work, collect: () => collections++, clock }).run(end.signal);
  await clock.advance(60_000);
  assert.equal(collections, 0);
  for (let round = 0; round < 10; round++) {
    work += 1_000;
    await clock.advance(5_000);
  }
  assert.equal(collections, 0);
  await clock.advance(60_000);
  assert.equal(collections, 1);
  work += 10;
  await clock.advance(60_000);
  assert.equal(collections, 1);
  end.abort();
  await done;
});
