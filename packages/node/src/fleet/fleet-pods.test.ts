import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, seededRandom, silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { KubeClient, Pod } from "@fjord/kube";
import { defaultRestartTiming } from "../pod/plan/restart-delay.ts";
import { AddressRange } from "../runtimes/simulated/index.ts";
import { FleetPods } from "./fleet-pods.ts";
import { TestPodApi } from "./test-pod-api.ts";

function podOf(name: string, more: Partial<Pod["metadata"]> = {}, nodeName = "fleet-1"): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}`, labels: { app: "web" }, generation: 1, ...more },
    spec: { nodeName, restartPolicy: "Always", containers: [{ name: "web", image: "web:1" }] },
    status: { phase: "Pending" },
  };
}

/** Fleet pods on an API in memory. */
class Bench implements AsyncDisposable {
  readonly api = new TestPodApi();
  readonly pods: FleetPods;
  isAway = false;
  readonly prefixes = ["fleet-"];
  readonly #end = new AbortController();
  readonly #done: Promise<void>;

  constructor(clock: Clock, before: readonly Pod[] = []) {
    for (const pod of before) this.api.put(pod);
    this.pods = new FleetPods({
      client: this.api as unknown as KubeClient,
      host: (name) =>
        this.prefixes.some((each) => name.startsWith(each))
          ? { address: "127.64.0.1", isAway: this.isAway }
          : undefined,
      rules: () => [],
      addresses: new AddressRange("10.64.0.0/16"),
      timing: defaultRestartTiming,
      clock,
      random: seededRandom(1),
      logger: silentLogger,
    });
    this.#done = this.pods.run(this.#end.signal);
  }

  statuses(name: string): (string | undefined)[] {
    return this.api.patches.filter((patch) => patch.name === name).map(({ status }) => status.phase);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#done;
  }
}

describe("pods of a fleet", () => {
  test("become Running with one write, and cost none afterwards", async () => {
    const clock = new ManualClock();
    await using bench = new Bench(clock, [podOf("a")]);
    await clock.advance(1_000);
    bench.api.put(podOf("b"));
    bench.api.put(podOf("other", {}, "someone-else"));
    await clock.advance(600_000);
    assert.deepEqual(bench.api.patches.map(({ name }) => name).sort(), ["a", "b"]);
    assert.equal(bench.api.pod("b")?.status?.phase, "Running");
    assert.notEqual(bench.api.pod("a")?.status?.podIP, bench.api.pod("b")?.status?.podIP);
    assert.equal(bench.pods.size, 2);
  });

  test("a change by others to a pod at rest is looked at, and left alone", async () => {
    const clock = new ManualClock();
    await using bench = new Bench(clock, [podOf("a")]);
    await clock.advance(1_000);
    const pod = bench.api.pod("a") as Pod;
    bench.api.put({ ...pod, metadata: { ...pod.metadata, labels: { app: "web", more: "yes" } } });
    await clock.advance(1_000);
    bench.api.put({ ...pod, status: { phase: "Pending" } });
    await clock.advance(1_000);
    assert.deepEqual(bench.statuses("a"), ["Running", "Running"]);
    assert.equal(bench.api.pod("a")?.status?.containerStatuses?.[0]?.restartCount, 0);
  });

  test("advance by the clock", async () => {
    const clock = new ManualClock();
    const annotations = { "simulated.fjord.dev/start-delay": "5s", "simulated.fjord.dev/exit-after": "10s" };
    await using bench = new Bench(clock);
    await clock.advance(100);
    const pod = podOf("job", { annotations });
    bench.api.put({ ...pod, spec: { ...pod.spec, restartPolicy: "Never", containers: pod.spec?.containers ?? [] } });
    await clock.advance(1_000);
    assert.deepEqual(bench.statuses("job"), ["Pending"]);
    await clock.advance(5_000);
    assert.deepEqual(bench.statuses("job"), ["Pending", "Running"]);
    await clock.advance(10_000);
    assert.deepEqual(bench.statuses("job"), ["Pending", "Running", "Succeeded"]);
  });

  test("are deleted when they have ended, with a last status only where something holds them", async () => {
    const clock = new ManualClock();
    const stop = { "simulated.fjord.dev/stop-delay": "5s" };
    await using bench = new Bench(clock, [podOf("a"), podOf("b", { annotations: stop, finalizers: ["x/y"] })]);
    await clock.advance(1_000);
    for (const name of ["a", "b"]) bench.api.requestDeletion(name, 30);
    await clock.advance(1_000);
    assert.deepEqual(bench.api.deletions, ["a"]);
    assert.deepEqual(bench.statuses("a"), ["Running"]);
    await clock.advance(5_000);
    assert.deepEqual(bench.api.deletions, ["a", "b"]);
    assert.deepEqual(bench.statuses("b"), ["Running", "Succeeded"]);
    assert.equal(bench.pods.size, 0);
  });

  test("advance also where timers run ahead of the clock", async () => {
    const manual = new ManualClock();
    const clock: Clock = {
      now: () => manual.now(),
      after: (ms, callback) => manual.after(Math.max(0, ms - 0.5), callback),
    };
    await using bench = new Bench(clock);
    bench.api.put(podOf("a", { annotations: { "simulated.fjord.dev/exit-after": "2s" } }));
    await manual.advance(1_000);
    assert.deepEqual(bench.statuses("a"), ["Running"]);
    await manual.advance(10_000);
    assert.ok((bench.api.pod("a")?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  });

  for (const order of ["before", "after"] as const) {
    test(`that are deleted just before a status is written end too, seen ${order} the answer`, async () => {
      const clock = new ManualClock();
      await using bench = new Bench(clock);
      bench.api.holdsEvents = order === "after";
      bench.api.beforePatch = () => {
        bench.api.beforePatch = () => {};
        bench.api.requestDeletion("a", 30);
      };
      bench.api.put(podOf("a"));
      bench.api.showEvents(1);
      await clock.advance(1_000);
      bench.api.holdsEvents = false;
      bench.api.showEvents();
      await clock.advance(60_000);
      assert.deepEqual(bench.api.deletions, ["a"]);
    });
  }

  test("go on while no write succeeds, and what has become of them is written afterwards", async () => {
    const clock = new ManualClock();
    const begin = clock.now();
    const late = { "simulated.fjord.dev/start-delay": "5s" };
    const slow = { "simulated.fjord.dev/stop-delay": "5s" };
    await using bench = new Bench(clock, [
      podOf("late", { annotations: late }),
      podOf("leaving", { annotations: slow }),
    ]);
    await clock.advance(1_000);
    bench.api.requestDeletion("leaving", 30);
    await clock.advance(1_000);
    bench.api.isAway = true;
    await clock.advance(60_000);
    assert.deepEqual([bench.statuses("late"), bench.api.deletions], [["Pending"], []]);
    bench.api.isAway = false;
    await clock.advance(15_000);
    assert.deepEqual([bench.statuses("late"), bench.api.deletions], [["Pending", "Running"], ["leaving"]]);
    const startedAt = bench.api.pod("late")?.status?.containerStatuses?.[0]?.state?.running?.startedAt;
    assert.equal(startedAt, new Date(begin + 5_000).toISOString().replace(".000Z", "Z"));
  });

  test("of a node that is away stay as they are until it is back", async () => {
    const clock = new ManualClock();
    await using bench = new Bench(clock, [podOf("a")]);
    await clock.advance(1_000);
    bench.isAway = true;
    bench.api.put(podOf("b"));
    bench.api.requestDeletion("a", 0);
    await clock.advance(60_000);
    assert.deepEqual([bench.api.deletions, bench.statuses("b")], [[], []]);
    bench.isAway = false;
    bench.pods.wake("fleet-1");
    await clock.advance(1_000);
    assert.deepEqual([bench.api.deletions, bench.statuses("b")], [["a"], ["Running"]]);
  });

  test("that were there before their node are simulated once it is", async () => {
    const clock = new ManualClock();
    await using bench = new Bench(clock, [podOf("early", {}, "late-1")]);
    await clock.advance(1_000);
    assert.equal(bench.pods.size, 0);
    bench.prefixes.push("late-");
    bench.pods.wake("late-1");
    await clock.advance(1_000);
    assert.equal(bench.api.pod("early")?.status?.containerStatuses?.[0]?.ready, true);
  });

  test("that rest stay at rest when the watch breaks", async () => {
    const clock = new ManualClock();
    await using bench = new Bench(clock, [podOf("a"), podOf("b")]);
    await clock.advance(60_000);
    const { lists } = bench.api;
    bench.api.cutWatch();
    await clock.advance(600_000);
    assert.ok(bench.api.lists - lists <= 2, `${bench.api.lists - lists} lists`);
    assert.equal(bench.api.writes, 2);
  });

  test("a pod that comes again under the same name begins anew", async () => {
    const clock = new ManualClock();
    await using bench = new Bench(clock, [podOf("a")]);
    await clock.advance(1_000);
    bench.api.requestDeletion("a", 0);
    await clock.advance(1_000);
    bench.api.put(podOf("a", { uid: "another" }));
    await clock.advance(1_000);
    assert.match(bench.api.pod("a")?.status?.containerStatuses?.[0]?.containerID ?? "", /another-web-0/);
  });

  test("take little memory", { timeout: 60_000 }, async () => {
    const count = 5_000;
    await using bench = new Bench(systemClock);
    bench.api.keepsPatches = false;
    const before = heapUsed();
    for (let i = 0; i < count; i++) bench.api.put(podOf(`web-7c9f8d6b5-${i}`, {}, `fleet-${i % 50}`));
    while (bench.api.writes < count) await new Promise((resolve) => setTimeout(resolve, 50));
    await new Promise((resolve) => setImmediate(resolve));
    const perPod = (heapUsed() - before) / count - bench.api.textBytes / count;
    assert.ok(perPod < 2_000, `${Math.round(perPod)} bytes for a pod`);
  });
});

function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
