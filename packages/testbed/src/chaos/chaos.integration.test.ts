import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@fjord/base";
import { kubernetesSkip, startTestBed } from "../testing.ts";
import { runChaos } from "./chaos.ts";

const skip = kubernetesSkip();

test("three sites become what their users asked for, whatever befell them, and unpeering leaves nothing", {
  skip,
}, async (t) => {
  const seed = 1;
  const { findings, figures } = await runChaos({
    seed,
    ms: 180_000,
    startBed: () => startTestBed({ sites: 3, simulatedNodes: 2, components: "all" }),
    clock: systemClock,
    random: Math.random,
    signal: t.signal,
    say: (line) => t.diagnostic(line),
  });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(findings, [], `npm run chaos -- --seed ${seed} --minutes 3`);
});
