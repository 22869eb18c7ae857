import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { newPod, PodBench } from "../testing/pod-bench.ts";
import { removeLogs } from "./pod-files.ts";

test("the files of a pod go with it, and those of pods that went unseen are found", async () => {
  await using bench = await PodBench.start({ tidyMs: 5_000 });
  const { stateDirectory } = bench.settings;
  const stray = join(stateDirectory, "pods", "uid-stray", "containers");
  const strayLogs = join(stateDirectory, "logs", "default_stray_uid-stray", "web");
  const foreign = join(stateDirectory, "logs", "audit");
  for (const folder of [stray, strayLogs, foreign]) await mkdir(folder, { recursive: true });
  await bench.run(newPod("web"));
  const own = join(stateDirectory, "pods", "uid-web");
  assert.ok(existsSync(own));
  await bench.advance(6);
  assert.equal(existsSync(join(stateDirectory, "pods", "uid-stray")), false);
  assert.equal(existsSync(join(stateDirectory, "logs", "default_stray_uid-stray")), false);
  assert.ok(existsSync(foreign), "what is no pod's is left alone");
  assert.ok(existsSync(own), "and so is what is still wanted");
  bench.api.markDeleted("uid-web", 1);
  await bench.settle();
  assert.equal(existsSync(own), false);
});

test("a log goes with what was rotated out of it, and no other", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fjord-logs-"));
  const files = ["1.log", "1.log.20300101-000000", "11.log", "2.log"].map((name) => join(folder, name));
  for (const file of files) await writeFile(file, "");
  await removeLogs(files[0] ?? "");
  assert.deepEqual(files.map(existsSync), [false, false, true, true]);
  await removeLogs(join(folder, "none", "1.log"));
  await rm(folder, { recursive: true });
});
