import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Pod } from "@fjord/kube";
import { EvictionManager, type EvictionManagerOptions } from "./eviction-manager.ts";
import { parseThresholds, type Signal } from "./thresholds.ts";

const Mi = 1024 ** 2;
const signal = new AbortController().signal;

function pod(name: string, spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "n", uid: name },
    spec: { containers: [{ name: "c" }], ...spec },
  };
}

function setUp(thresholds: string, options: Partial<EvictionManagerOptions> & { grace?: Record<string, number> } = {}) {
  const clock = new ManualClock();
  const available = new Map<Signal, number>();
  const running = new Map<string, Pod>(
    ["a", "b", "c"].map((name) => [name, pod(name, { priority: name.charCodeAt(0) })]),
  );
  const evicted: string[] = [];
  let changes = 0;
  const manager = new EvictionManager({
    thresholds: parseThresholds(thresholds, { grace: options.grace ?? {} }),
    observe: async () =>
      new Map([...available].map(([name, left]) => [name, { available: left, capacity: 1000 * Mi }])),
    usages: async () =>
      [...running.values()].map((each) => ({
        pod: each,
        memoryBytes: 5 * Mi,
        storageBytes: 1,
        inodes: 1,
        processes: 1,
      })),
    evict: (each, message, grace) => evicted.push(`${each.metadata.name} ${grace} ${message}`),
    isRunning: (uid) => running.has(uid),
    changed: () => changes++,
    clock,
    logger: silentLogger,
    ...options,
  });
  const pressures = () => manager.conditions().flatMap(({ type, status }) => (status === "True" ? [type] : []));
  return { clock, available, running, evicted, manager, pressures, changes: () => changes };
}

test("nothing happens while there is enough", async () => {
  const { manager, available, evicted, pressures } = setUp("memory.available<100Mi");
  available.set("memory.available", 200 * Mi);
  assert.equal(await manager.round(signal), undefined);
  assert.deepEqual([evicted, pressures()], [[], []]);
  assert.equal(manager.refusal(pod("x")), undefined);
});

test("below a hard threshold the least important pod goes at once, and the node says why", async () => {
  const { manager, available, evicted, pressures, changes } = setUp("memory.available<100Mi");
  available.set("memory.available", 50 * Mi);
  assert.equal(await manager.round(signal), "a");
  assert.match(
    evicted[0] ?? "",
    /^a 1 The node was low on resource: memory\. Threshold quantity: 102400Ki, available: 51200Ki\./,
  );
  assert.deepEqual(pressures(), ["MemoryPressure"]);
  assert.equal(changes(), 1);
});

test("a condition stays for a while after its cause is over", async () => {
  const { manager, available, pressures, clock } = setUp("memory.available<100Mi", { transitionMs: 60_000 });
  available.set("memory.available", 50 * Mi);
  await manager.round(signal);
  available.set("memory.available", 500 * Mi);
  await clock.advance(59_000);
  await manager.round(signal);
  assert.deepEqual(pressures(), ["MemoryPressure"]);
  await clock.advance(2_000);
  await manager.round(signal);
  assert.deepEqual(pressures(), []);
});

test("a soft threshold has to be crossed for its time, and gives pods theirs", async () => {
  const { manager, available, evicted, clock, pressures } = setUp("memory.available<100Mi", {
    grace: { "memory.available": 90_000 },
    maxGraceSeconds: 20,
  });
  available.set("memory.available", 50 * Mi);
  assert.equal(await manager.round(signal), undefined);
  assert.deepEqual(pressures(), ["MemoryPressure"]);
  await clock.advance(89_000);
  assert.equal(await manager.round(signal), undefined);
  available.set("memory.available", 150 * Mi);
  await manager.round(signal);
  available.set("memory.available", 50 * Mi);
  await manager.round(signal);
  await clock.advance(89_000);
  assert.equal(await manager.round(signal), undefined, "the time begins anew");
  await clock.advance(2_000);
  assert.equal(await manager.round(signal), "a");
  assert.match(evicted[0] ?? "", /^a 20 /);
});

test("disk is freed of what nobody uses before a pod has to go", async () => {
  let reclaimed = 0;
  const set = setUp("nodefs.available<100Mi", {
    reclaim: async () => {
      reclaimed++;
      if (reclaimed === 1) set.available.set("nodefs.available", 500 * Mi);
    },
  });
  set.available.set("nodefs.available", 10 * Mi);
  assert.equal(await set.manager.round(signal), undefined);
  assert.deepEqual([reclaimed, set.evicted], [1, []]);
  set.available.set("nodefs.available", 10 * Mi);
  assert.equal(await set.manager.round(signal), "a");
  assert.match(set.evicted[0] ?? "", /ephemeral-storage/);
});

test("memory comes before disk", async () => {
  const { manager, available, evicted } = setUp("nodefs.available<100Mi,memory.available<100Mi");
  available.set("nodefs.available", 1);
  available.set("memory.available", 1);
  await manager.round(signal);
  assert.match(evicted[0] ?? "", /memory/);
});

test("pods that outgrow their own limits go even where there is enough", async () => {
  const big = pod("big");
  const { manager, evicted } = setUp("", { overLimits: async () => [{ pod: big, message: "too much" }] });
  assert.equal(await manager.round(signal), "big");
  assert.deepEqual(evicted, ["big 1 too much"]);
});

test("a volume that cannot be measured does not keep the machine from being watched", async () => {
  const overLimits = () => Promise.reject(new Error("no such folder"));
  const { manager, available } = setUp("memory.available<100Mi", { overLimits });
  available.set("memory.available", 50 * Mi);
  assert.equal(await manager.round(signal), "a");
});

test("one pod at a time: the next goes when the last has ended", async () => {
  const { manager, available, evicted, running, clock } = setUp("memory.available<100Mi");
  available.set("memory.available", 50 * Mi);
  const stop = new AbortController();
  const run = manager.run(stop.signal);
  await clock.advance(5_000);
  assert.equal(evicted.length, 1);
  running.delete("a");
  await clock.advance(15_000);
  assert.equal(evicted.length, 2);
  assert.match(evicted[1] ?? "", /^b /);
  running.clear();
  available.set("memory.available", 500 * Mi);
  await clock.advance(60_000);
  assert.equal(evicted.length, 2);
  stop.abort();
  await run;
});

test("a node under pressure takes only pods that it can serve", async () => {
  const { manager, available } = setUp("memory.available<100Mi,nodefs.available<100Mi");
  const asking = pod("x", { containers: [{ name: "c", resources: { requests: { memory: "1Mi" } } }] });
  const tolerating = pod("x", { tolerations: [{ key: "node.kubernetes.io/memory-pressure", operator: "Exists" }] });
  const critical = pod("x", { priority: 2_000_000_000 });
  available.set("memory.available", 1);
  await manager.round(signal);
  assert.match(manager.refusal(pod("x")) ?? "", /MemoryPressure/);
  for (const each of [asking, tolerating, critical]) assert.equal(manager.refusal(each), undefined);
  available.set("nodefs.available", 1);
  await manager.round(signal);
  for (const each of [asking, tolerating, pod("x")]) assert.match(manager.refusal(each) ?? "", /DiskPressure/);
  assert.equal(manager.refusal(critical), undefined);
});
