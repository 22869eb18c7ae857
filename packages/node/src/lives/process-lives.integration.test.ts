import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { until } from "./test-life-bed.ts";
import { LifeChecks, uidOf } from "./test-life-checks.ts";
import { livesSettings, liveThrough } from "./test-lives.ts";
import { ProcessBed } from "./test-process-bed.ts";
import { onceSpec, serverSpec } from "./test-witness.ts";

const { seed, rounds } = livesSettings(3);

describe("whole lives of pods of plain processes", { skip: kubernetesSkip() }, () => {
  let bed: ProcessBed;

  before(async () => {
    bed = await ProcessBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  test("through kill -9 of what keeps their containers, with the node there or not", { timeout: 300_000 }, async () => {
    const checks = new LifeChecks(bed);
    await checks.nodeReady();
    for (const isThere of [true, false]) {
      const server = await checks.create("server", serverSpec(bed.place));
      const task = await checks.create("task", onceSpec(bed.place));
      await checks.ready("server");
      await until("the task to run", () => checks.witness(task).has("task.lines"));
      if (!isThere) await bed.kill("node");
      for (const pod of [server, task]) bed.killKeepers(uidOf(pod));
      if (!isThere) await bed.start("node");
      // What nobody keeps is ended and started anew where it may be.
      await until("the server to run again", () => checks.witness(server).starts("server").length === 2);
      await checks.ready("server");
      await checks.lived(server, "server", { starts: 2 });
      await checks.runsAsTold("server");
      const over = await checks.status("task", "over", ({ phase }) => phase === "Failed");
      assert.equal(over.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
      assert.equal(checks.witness(task).starts("task").length, 1);
      for (const pod of [server, task]) {
        await checks.delete(pod.metadata.name ?? "");
        await checks.gone(pod);
      }
    }
  });

  test(`through kill -9 of node and API server (FJORD_LIVES_SEED=${seed})`, { timeout: 3_600_000 }, () =>
    liveThrough({ bed, seed, rounds, runtimeDies: () => false }),
  );
});
