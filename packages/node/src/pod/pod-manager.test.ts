import assert from "node:assert/strict";
import { test } from "node:test";
import { newPod, PodBench } from "./testing/pod-bench.ts";

test("a pod is started, reported as running, and deleted for good when it has ended", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const status = bench.status("web");
  assert.equal(status.phase, "Running");
  assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  assert.equal(status.containerStatuses?.[0]?.ready, true);
  assert.ok(status.podIP);
  assert.deepEqual(bench.reasons(), ["Created", "Started"]);

  bench.api.markDeleted("uid-web", 30);
  await bench.settle();
  assert.equal(bench.api.pods.size, 0);
  assert.equal(bench.runtime.sandboxes.length, 0);
  assert.equal(bench.manager.pods().length, 0);
  assert.equal(bench.api.patches.at(-1)?.phase, "Succeeded");
});
