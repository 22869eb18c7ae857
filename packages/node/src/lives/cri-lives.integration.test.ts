import { after, before, describe, test } from "node:test";
import { realNodesSkip } from "@fjord/testbed/testing";
import { CriBed } from "./test-cri-bed.ts";
import { until } from "./test-life-bed.ts";
import { LifeChecks, uidOf } from "./test-life-checks.ts";
import { livesSettings, liveThrough } from "./test-lives.ts";
import { onceSpec, serverSpec } from "./test-witness.ts";

const { seed, rounds } = livesSettings(3);

describe("whole lives of pods of containerd", { skip: realNodesSkip() }, () => {
  let bed: CriBed;

  before(async () => {
    bed = await CriBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  test("through kill -9 of the node while containerd is about to start something", { timeout: 300_000 }, async () => {
    const checks = new LifeChecks(bed);
    await checks.nodeReady();
    const begun = [
      await checks.create("begun", serverSpec(bed.place)),
      await checks.create("begun-once", onceSpec(bed.place)),
    ] as const;
    await until("a container to be made", () => begun.some((pod) => bed.traces(uidOf(pod)).containers > 0), {
      every: 4,
    });
    await bed.freezeRuntime();
    // These get their control groups and no sandboxes.
    const asked = [
      await checks.create("asked", serverSpec(bed.place)),
      await checks.create("asked-gone", serverSpec(bed.place)),
    ] as const;
    await until("control groups", () => asked.every((pod) => bed.hasGroup(uidOf(pod))));
    await bed.kill("node");
    await checks.delete("asked");
    await checks.delete("asked-gone", 0);
    await bed.resumeRuntime();
    await bed.start("node");
    for (const pod of asked) await checks.gone(pod);

    // What had not begun begins, as if nobody had asked before; what had been asked for is done, once.
    const [server, task] = begun;
    await checks.ready("begun");
    await checks.lived(server, "server", { starts: 1 });
    await checks.ranOnce(task);
    for (const { metadata } of begun) await checks.delete(metadata.name ?? "");
    for (const pod of begun) await checks.gone(pod);
    await checks.nothingTooMuch();
  });

  test(`through kill -9 of node, containerd and API server (FJORD_LIVES_SEED=${seed})`, { timeout: 3_600_000 }, () =>
    // A containerd that is killed forgets what it was about to start, which the node then starts anew; what it had just
    // started it may kill when it is back. It writes logs itself: what it has read and not yet written is lost.
    liveThrough({ bed, seed, rounds, runtimeDies: ({ rising }) => rising.parts.includes("runtime") }),
  );
});
