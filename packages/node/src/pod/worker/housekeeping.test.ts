import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { Housekeeping } from "./housekeeping.ts";
import type { OrphanSweep } from "./orphan-sweep.ts";
import type { RuntimeView } from "./runtime-view.ts";

test("ends where the node was told to stop before it had begun", { timeout: 60_000 }, async () => {
  let swept = 0;
  const sweep = { sweep: async () => void swept++ } as unknown as OrphanSweep;
  // A view that has stopped answers nobody any more.
  const stopped = { isListed: false, refresh: () => new Promise(() => {}) } as unknown as RuntimeView;
  const clock = new ManualClock();
  const housekeeping = new Housekeeping({
    sweep,
    views: [stopped],
    refreshVolumes() {},
    clock,
    logger: silentLogger,
  });
  await housekeeping.run(AbortSignal.abort());
  assert.equal(swept, 0);
});
