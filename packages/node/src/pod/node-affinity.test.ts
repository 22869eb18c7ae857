import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodManagerOptions } from "./pod-manager.ts";
import { newPod, PodBench } from "./testing/pod-bench.ts";

/** A node with labels, of which others may change those that the API has. */
async function start() {
  const api = { labels: { zone: "a" } as Record<string, string>, isAway: false, reads: 0 };
  let known = { ...api.labels };
  const settings = {
    get labels() {
      return known;
    },
  };
  const refreshLabels = async () => {
    api.reads++;
    if (api.isAway) throw new Error("the API is away");
    known = { ...api.labels };
  };
  const bench = await PodBench.start({ refreshLabels } as Partial<PodManagerOptions>);
  Object.defineProperty(bench.settings, "labels", { get: () => settings.labels });
  await bench.stopNode();
  bench.startNode();
  return { bench, api };
}

test("a pod whose node selector is not met is refused, though it was bound to the node", async () => {
  const { bench, api } = await start();
  await using _ = bench;
  await bench.run(newPod("here", { nodeSelector: { zone: "a" } }));
  assert.equal(bench.status("here").phase, "Running");
  assert.equal(api.reads, 0, "nothing is asked for where the known labels do");
  await bench.run(newPod("there", { nodeSelector: { zone: "b" } }));
  assert.equal(bench.status("there").phase, "Failed");
  assert.equal(bench.status("there").reason, "NodeAffinity");
});

test("a label that somebody has just given the node counts, and one that was taken away ends nothing", async () => {
  const { bench, api } = await start();
  await using _ = bench;
  api.labels = { zone: "b" };
  await bench.run(newPod("web", { nodeSelector: { zone: "b" } }));
  assert.equal(bench.status("web").phase, "Running");
  api.labels = {};
  await bench.run(newPod("none", { nodeSelector: { zone: "c" } }));
  assert.equal(bench.status("none").phase, "Failed");
  await bench.stopNode();
  bench.startNode();
  await bench.advance(2);
  assert.equal(bench.status("web").phase, "Running");
});

test("while nobody can say which labels the node has, no pod is refused for them", async () => {
  const { bench, api } = await start();
  await using _ = bench;
  api.isAway = true;
  api.labels = { zone: "b" };
  await bench.run(newPod("web", { nodeSelector: { zone: "b" } }));
  assert.equal(bench.status("web").phase, "Pending");
  api.isAway = false;
  await bench.advance(12);
  assert.equal(bench.status("web").phase, "Running");
});
