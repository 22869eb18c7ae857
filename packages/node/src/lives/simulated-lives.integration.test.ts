import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import type { Part } from "./test-life-bed.ts";
import { LifeChecks } from "./test-life-checks.ts";
import { type Fault, fallingSteps, type LifePlan, lifePlans, risingSteps } from "./test-life-plan.ts";
import { livesSettings } from "./test-lives.ts";
import { ProcessBed } from "./test-process-bed.ts";

const { seed, rounds } = livesSettings(3);

describe("whole lives of simulated pods", { skip: kubernetesSkip() }, () => {
  let bed: ProcessBed;
  let checks: LifeChecks;

  before(async () => {
    bed = await ProcessBed.start({ runtime: "simulated" });
    checks = new LifeChecks(bed);
    await checks.nodeReady();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  const container = (name: string) => ({ name, image: "none" });
  const whole = () =>
    checks.create("whole", {
      initContainers: [container("init"), { ...container("side"), restartPolicy: "Always" }],
      containers: [container("a"), container("b")],
    });
  const once = () => {
    const annotations = { "simulated.fjord.dev/exit-after": "1s" };
    return checks.create("once", { restartPolicy: "Never", containers: [container("task")] }, annotations);
  };

  /** Steps show nowhere but in the API, and pass quickly: they are met by chance. */
  async function strike<Step>(fault: Fault<Step>, position: number): Promise<void> {
    await sleep(systemClock, fault.delay + position * 60);
    const parts: readonly Part[] = fault.parts;
    await Promise.all(parts.map((part) => bed.kill(part)));
    await sleep(systemClock, fault.outage);
    for (const [index, part] of parts.entries()) {
      if (index > 0) await sleep(systemClock, fault.gap);
      await bed.start(part);
    }
    await bed.site.ready({ timeout: 90_000 });
    await checks.nodeReady();
  }

  async function live({ rising, falling, force }: LifePlan): Promise<void> {
    const pods = [await whole(), await once()];
    await strike(rising, risingSteps.indexOf(rising.step));
    const { status } = await checks.ready("whole");
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    assert.deepEqual(
      all.map(({ name, restartCount }) => [name, restartCount]),
      ["init", "side", "a", "b"].map((name) => [name, 0]),
    );
    const over = await checks.status("once", "over", ({ phase }) => phase === "Succeeded" || phase === "Failed");
    assert.equal(over.status?.phase, "Succeeded", JSON.stringify(over.status));
    for (const name of ["whole", "once"]) await checks.delete(name, force ? 0 : undefined);
    await strike(falling, fallingSteps.indexOf(falling.step));
    for (const pod of pods) await checks.gone(pod);
  }

  test(`through kill -9 of node and API server (FJORD_LIVES_SEED=${seed})`, { timeout: 3_600_000 }, async () => {
    const steady = await checks.create("steady", { containers: [container("server")] });
    const { status } = await checks.ready("steady");
    for (const [index, plan] of lifePlans(seed, bed.parts, rounds).entries()) {
      const text = `seed ${seed}, round ${index}: ${JSON.stringify(plan)}`;
      await live(plan).catch((error: unknown) => {
        throw new Error(`${text}\n${error instanceof Error ? error.message : error}`, { cause: error });
      });
      const now: Pod = await checks.get("steady");
      assert.deepEqual(now.status?.containerStatuses, status?.containerStatuses, text);
      process.stdout.write(`${text}\n`);
    }
    await checks.delete("steady");
    await checks.gone(steady);
  });
});
