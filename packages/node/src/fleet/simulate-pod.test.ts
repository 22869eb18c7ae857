import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pod } from "@fjord/kube";
import { defaultRestartTiming } from "../pod/plan/restart-delay.ts";
import { settingObjections, settingsOf } from "../runtimes/simulated/index.ts";
import { type PodLife, restoreLife } from "./pod-life.ts";
import { simulatePod } from "./simulate-pod.ts";

const START = Date.UTC(2030, 0, 1);

/** One pod, whose time is moved by hand. */
class Trial {
  pod: Pod;
  life: PodLife;
  now = START;
  wakeAt = 0;
  ended = false;

  constructor(annotations: Record<string, string> = {}, spec: Partial<NonNullable<Pod["spec"]>> = {}) {
    const prefixed = Object.fromEntries(
      Object.entries(annotations).map(([name, text]) => [`simulated.fjord.dev/${name}`, text]),
    );
    this.pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "default", uid: "u1", annotations: prefixed },
      spec: { nodeName: "fleet-1", restartPolicy: "Always", containers: [{ name: "web", image: "web:1" }], ...spec },
    };
    this.life = restoreLife(this.pod);
    this.look();
  }

  look(): this {
    const result = simulatePod({
      pod: this.pod,
      life: this.life,
      settings: settingsOf(this.pod, []),
      objections: settingObjections(this.pod),
      now: this.now,
      hostIPs: ["127.64.0.1"],
      takeAddress: () => "10.64.0.1",
      timing: defaultRestartTiming,
    });
    this.pod = { ...this.pod, status: result.status };
    this.wakeAt = result.wakeAt;
    this.ended = result.ended;
    return this;
  }

  /** Lets time pass, looking whenever it was asked for. */
  pass(seconds: number): this {
    const end = this.now + seconds * 1000;
    while (this.wakeAt <= end) {
      this.now = this.wakeAt;
      this.look();
    }
    this.now = end;
    return this.look();
  }

  /** As a new process would: from what the API has. */
  restart(): this {
    this.life = restoreLife(JSON.parse(JSON.stringify(this.pod)) as Pod);
    return this.look();
  }

  delete(graceSeconds: number): this {
    const deletionTimestamp = new Date(this.now).toISOString();
    const metadata = { ...this.pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds };
    this.pod = { ...this.pod, metadata };
    return this.look();
  }

  get status() {
    return this.pod.status ?? {};
  }

  container(index = 0) {
    const status = this.status.containerStatuses?.[index];
    const [[state, detail] = []] = Object.entries(status?.state ?? {});
    return [state, (detail as { reason?: string } | undefined)?.reason, status?.restartCount, status?.ready];
  }
}

describe("a simulated pod", () => {
  test("that is told nothing is Running and Ready at the first look, and rests", () => {
    const trial = new Trial();
    assert.equal(trial.status.phase, "Running");
    assert.deepEqual(trial.container(), ["running", undefined, 0, true]);
    assert.equal(trial.status.podIP, "10.64.0.1");
    assert.equal(trial.status.hostIP, "127.64.0.1");
    const conditions = trial.status.conditions?.map(({ type, status }) => `${type}=${status}`).sort();
    assert.deepEqual(conditions, [
      "ContainersReady=True",
      "Initialized=True",
      "PodReadyToStartContainers=True",
      "PodScheduled=True",
      "Ready=True",
    ]);
    assert.equal(trial.wakeAt, Number.POSITIVE_INFINITY);
  });

  test("takes its time with sandbox, image, start and readiness", () => {
    const trial = new Trial({ "sandbox-delay": "1s", "pull-delay": "2s", "start-delay": "3s", "ready-delay": "4s" });
    assert.equal(trial.status.podIP, undefined);
    assert.equal(trial.pass(1).status.podIP, "10.64.0.1");
    assert.deepEqual(trial.pass(4).container(), ["waiting", "ContainerCreating", 0, false]);
    assert.deepEqual(trial.pass(1).container(), ["running", undefined, 0, false]);
    assert.equal(trial.status.phase, "Running");
    assert.deepEqual(trial.pass(4).container(), ["running", undefined, 0, true]);
    assert.equal(trial.wakeAt, Number.POSITIVE_INFINITY);
  });

  test("crashes in a loop with growing pauses", () => {
    const trial = new Trial({ "exit-after": "1s", "exit-code": "3" });
    assert.deepEqual(trial.pass(1).container(), ["running", undefined, 1, true]);
    assert.deepEqual(trial.pass(1).container(), ["waiting", "CrashLoopBackOff", 1, false]);
    assert.deepEqual(trial.pass(9).container(), ["waiting", "CrashLoopBackOff", 1, false]);
    assert.deepEqual(trial.pass(1).container(), ["running", undefined, 2, true]);
    assert.equal(trial.status.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 3);
    assert.deepEqual(trial.pass(20).container(), ["waiting", "CrashLoopBackOff", 2, false]);
    assert.deepEqual(trial.pass(1).container(), ["running", undefined, 3, true]);
  });

  test("ends for good where it is not restarted", () => {
    const done = new Trial({ "exit-after": "5s" }, { restartPolicy: "Never" }).pass(5);
    assert.equal(done.status.phase, "Succeeded");
    assert.equal(done.wakeAt, Number.POSITIVE_INFINITY);
    const texts = { "exit-after": "5s", "exit-code": "137", "exit-reason": "OOMKilled", "exit-message": "too much" };
    const failed = new Trial(texts, { restartPolicy: "Never" }).pass(5);
    const end = failed.status.containerStatuses?.[0]?.state?.terminated;
    assert.deepEqual([failed.status.phase, end?.reason, end?.message], ["Failed", "OOMKilled", "too much"]);
    assert.equal(end?.finishedAt, "2030-01-01T00:00:05Z");
  });

  test("waits for an image that is not to be had, and says so as a kubelet does", () => {
    const trial = new Trial({ "pull-error": "no such image" });
    assert.deepEqual(trial.container(), ["waiting", "ErrImagePull", 0, false]);
    assert.deepEqual(trial.pass(2).container(), ["waiting", "ImagePullBackOff", 0, false]);
    assert.deepEqual(trial.pass(8).container(), ["waiting", "ErrImagePull", 0, false]);
    assert.equal(trial.status.phase, "Pending");
  });

  test("runs its init containers first, and sidecars beside", () => {
    const initContainers = [
      { name: "setup", image: "setup" },
      { name: "proxy", image: "proxy", restartPolicy: "Always" },
    ];
    const trial = new Trial({ "exit-after.setup": "2s" }, { initContainers });
    assert.equal(trial.status.phase, "Pending");
    assert.deepEqual(trial.container(), ["waiting", "PodInitializing", 0, false]);
    trial.pass(2);
    assert.equal(trial.status.phase, "Running");
    assert.deepEqual(
      trial.status.initContainerStatuses?.map(({ name, state }) => [name, Object.keys(state ?? {})[0]]),
      [
        ["setup", "terminated"],
        ["proxy", "running"],
      ],
    );
  });

  test("waits while its annotations cannot be understood, and begins when they can", () => {
    const trial = new Trial({ "exit-afer": "1s" });
    const { pod } = trial;
    for (const look of [() => trial, () => trial.pass(900), () => trial.restart()]) {
      assert.deepEqual([look().status.phase, trial.ended], ["Pending", false]);
      assert.deepEqual(trial.container(), ["waiting", "RuntimeUnsupported", 0, false]);
    }
    const { waiting } = trial.status.containerStatuses?.[0]?.state ?? {};
    assert.match(waiting?.message ?? "", /exit-afer is nothing that a simulated pod can be told/);
    assert.equal(trial.wakeAt, Number.POSITIVE_INFINITY);
    const { annotations: _, ...metadata } = pod.metadata;
    trial.pod = { ...trial.pod, metadata };
    assert.equal(trial.look().status.phase, "Running");
    assert.equal(new Trial({ "exit-afer": "1s" }).delete(30).ended, true);
  });

  test("that is deleted ends when its containers have, or its time is over", () => {
    const willing = new Trial({ "stop-delay": "5s" }).delete(30);
    assert.equal(willing.ended, false);
    assert.equal(willing.pass(4).ended, false);
    assert.equal(willing.pass(1).ended, true);
    const stubborn = new Trial({ "stop-delay": "1h" }).delete(3);
    assert.equal(stubborn.pass(2).ended, false);
    assert.equal(stubborn.pass(1).ended, true);
    assert.equal(stubborn.status.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
    assert.equal(new Trial().delete(0).ended, true);
    assert.equal(new Trial({ "start-delay": "1h" }).delete(30).ended, true);
  });

  test("is over when its deadline is", () => {
    const trial = new Trial({}, { activeDeadlineSeconds: 10 });
    assert.equal(trial.pass(9).status.phase, "Running");
    assert.deepEqual([trial.pass(1).status.phase, trial.status.reason], ["Failed", "DeadlineExceeded"]);
  });

  test("goes on in another process as in the first, at whatever moment", () => {
    const texts = { "start-delay": "1s", "exit-after": "4s", "exit-code": "1", "ready-delay": "1s" };
    for (let seconds = 1; seconds < 120; seconds += 7) {
      const [kept, moved] = [new Trial(texts).pass(seconds), new Trial(texts).pass(seconds)];
      const before = JSON.stringify(moved.status.containerStatuses);
      assert.equal(JSON.stringify(moved.restart().status.containerStatuses), before, `at ${seconds} s`);
      const count = (trial: Trial) => trial.pass(600).status.containerStatuses?.[0]?.restartCount ?? 0;
      assert.ok(Math.abs(count(kept) - count(moved)) <= 1);
    }
  });
});
