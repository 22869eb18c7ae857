import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import fc from "fast-check";
import type { ContainerStats } from "../../runtime/stats.ts";
import { observationsOf } from "./observations.ts";
import { isCritical, type PodUsage, rankForEviction } from "./rank.ts";
import { exceededStorage } from "./storage-limits.ts";
import { crossed, defaultHardThresholds, type Observations, parseThresholds, type Signal } from "./thresholds.ts";

const Mi = 1024 ** 2;

test("thresholds are read as the kubelet writes them", () => {
  assert.deepEqual(parseThresholds("memory.available<100Mi, nodefs.available<10%,"), [
    { signal: "memory.available", below: { absolute: 100 * Mi }, graceMs: 0 },
    { signal: "nodefs.available", below: { share: 0.1 }, graceMs: 0 },
  ]);
  const options = { grace: { "memory.available": 90_000 }, reclaim: { "memory.available": "50Mi" } };
  assert.deepEqual(parseThresholds("memory.available<1Gi", options), [
    {
      signal: "memory.available",
      below: { absolute: 1024 * Mi },
      graceMs: 90_000,
      reclaim: { absolute: 50 * Mi },
    },
  ]);
  assert.equal(parseThresholds(defaultHardThresholds).length, 5);
  assert.deepEqual(parseThresholds(""), []);
});

for (const text of [
  "memory.free<1",
  "memory.available",
  "memory.available<",
  "nodefs.available<200%",
  "memory.available<-5",
  "pid.available<1<2",
]) {
  test(`${text} is no threshold`, () => {
    assert.throws(() => parseThresholds(text), { code: "NODE_EVICTION_THRESHOLD" });
  });
}

function seen(signal: Signal, available: number, capacity = 1000): Observations {
  return new Map([[signal, { available, capacity }]]);
}

test("a threshold is crossed below it, not at it", () => {
  const thresholds = parseThresholds("pid.available<10%");
  assert.equal(crossed(thresholds, seen("pid.available", 99)).length, 1);
  assert.equal(crossed(thresholds, seen("pid.available", 100)).length, 0);
});

test("what cannot be seen, and a threshold of nothing, are never crossed", () => {
  assert.deepEqual(crossed(parseThresholds("memory.available<1Gi"), new Map()), []);
  assert.deepEqual(crossed(parseThresholds("memory.available<0"), seen("memory.available", -1)), []);
});

test("what is to be reclaimed counts only after the threshold was crossed", () => {
  const thresholds = parseThresholds("pid.available<100", { reclaim: { "pid.available": "50" } });
  assert.equal(crossed(thresholds, seen("pid.available", 120)).length, 0);
  assert.equal(crossed(thresholds, seen("pid.available", 120), new Set(thresholds)).length, 1);
  assert.equal(crossed(thresholds, seen("pid.available", 150), new Set(thresholds)).length, 0);
});

interface PodOptions {
  priority?: number;
  memory?: string;
  storage?: string;
  started?: string;
}

function pod(name: string, { priority, memory, storage, started }: PodOptions = {}): Pod {
  const requests = { ...(memory && { memory }), ...(storage && { "ephemeral-storage": storage }) };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "n", uid: name },
    spec: { ...(priority !== undefined && { priority }), containers: [{ name: "c", resources: { requests } }] },
    ...(started && { status: { startTime: started } }),
  };
}

function usage(name: string, memoryMi: number, options: PodOptions = {}, more: Partial<PodUsage> = {}): PodUsage {
  return { pod: pod(name, options), memoryBytes: memoryMi * Mi, storageBytes: 0, inodes: 0, processes: 1, ...more };
}

function order(usages: PodUsage[], signal: Signal = "memory.available"): string[] {
  return rankForEviction(usages, signal).map((each) => each.pod.metadata.name ?? "");
}

const rankings: [string, PodUsage[], string[]][] = [
  [
    "who exceeds its request goes first",
    [usage("fair", 50, { memory: "100Mi" }), usage("greedy", 20, { memory: "10Mi" })],
    ["greedy", "fair"],
  ],
  [
    "even where it is more important",
    [usage("fair", 50, { memory: "100Mi", priority: 0 }), usage("greedy", 20, { memory: "10Mi", priority: 9 })],
    ["greedy", "fair"],
  ],
  [
    "of two that exceed, the less important",
    [usage("high", 90, { priority: 5 }), usage("low", 10, { priority: 1 })],
    ["low", "high"],
  ],
  [
    "of two as important, who exceeds by more",
    [usage("less", 90, { memory: "80Mi" }), usage("more", 30)],
    ["more", "less"],
  ],
  [
    "of two that stay within, the less important",
    [usage("high", 1, { memory: "9Mi", priority: 5 }), usage("low", 1, { memory: "2Mi", priority: 1 })],
    ["low", "high"],
  ],
  [
    "of two that are alike, the younger",
    [usage("old", 5, { started: "2030-01-01T00:00:00Z" }), usage("young", 5, { started: "2030-01-02T00:00:00Z" })],
    ["young", "old"],
  ],
  [
    "critical ones never",
    [usage("system", 900, { priority: 2_000_001_000 }), usage("any", 1, { memory: "9Mi" })],
    ["any"],
  ],
  ["nobody where there is nobody", [], []],
];
for (const [what, usages, expected] of rankings) {
  test(`evicts ${what}`, () => assert.deepEqual(order(usages), expected));
}

test("what has run short decides", () => {
  const disk = usage("disk", 1, { storage: "1Mi" }, { storageBytes: 50 * Mi });
  const memory = usage("memory", 500, { storage: "1Gi" }, { storageBytes: 60 * Mi, processes: 900 });
  const files = usage("files", 2, { storage: "1Gi" }, { inodes: 1e6 });
  assert.equal(order([disk, memory, files], "nodefs.available")[0], "disk");
  assert.equal(order([disk, memory, files], "nodefs.inodesFree")[0], "files");
  assert.equal(order([disk, memory, files], "pid.available")[0], "memory");
});

test("pods of files and mirrors are critical", () => {
  const annotated = (annotations: Record<string, string>) => ({ ...pod("x"), metadata: { name: "x", annotations } });
  assert.ok(isCritical(annotated({ "kubernetes.io/config.mirror": "h" })));
  assert.ok(isCritical(annotated({ "kubernetes.io/config.source": "file" })));
  assert.ok(!isCritical(annotated({ "kubernetes.io/config.source": "api" })));
});

test("the order is total, and never puts one within its request before one that exceeds it", () => {
  const one = fc.record({
    priority: fc.integer({ min: 0, max: 3 }),
    used: fc.integer({ min: 0, max: 100 }),
    requested: fc.integer({ min: 0, max: 100 }),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 20 }), (pods) => {
      const usages = pods.map(({ priority, used, requested }, i) =>
        usage(`p${i}`, used, { priority, memory: `${requested}Mi` }),
      );
      const ranked = rankForEviction(usages, "memory.available");
      assert.equal(ranked.length, usages.length);
      const exceeds = ranked.map(({ pod: { metadata } }) => {
        const { used = 0, requested = 0 } = pods[Number(metadata.name?.slice(1))] ?? {};
        return used > requested;
      });
      assert.deepEqual(
        exceeds,
        exceeds.toSorted((a, b) => Number(b) - Number(a)),
      );
    }),
  );
});

function stats(name: string, usedBytes: number): ContainerStats {
  return {
    id: name,
    name,
    pod: { uid: "u", namespace: "n", name: "p" },
    startedAt: 0,
    usage: { time: 0 },
    rootFs: { usedBytes },
  };
}

function limited(limit?: string, sizeLimit?: string): Pod {
  const resources = limit === undefined ? {} : { limits: { "ephemeral-storage": limit } };
  const volumes = [{ name: "v", emptyDir: sizeLimit === undefined ? {} : { sizeLimit } }];
  return { ...pod("p"), spec: { containers: [{ name: "c", resources }], volumes } };
}

test("a pod that outgrows its own limits of storage is told which", () => {
  const storage = { volumes: [{ name: "v", usedBytes: 20 * Mi }], logs: { c: { usedBytes: 2 * Mi } } };
  assert.deepEqual(exceededStorage(limited(), [stats("c", 9 * Mi)], storage), []);
  assert.match(
    exceededStorage(limited(undefined, "10Mi"), [], storage).join(),
    /EmptyDir volume "v" exceeds the limit "10Mi"/,
  );
  assert.deepEqual(exceededStorage(limited(undefined, "20Mi"), [], storage), []);
  assert.match(
    exceededStorage(limited("10Mi"), [stats("c", 9 * Mi)], storage).join(),
    /Container c exceeded.*Pod ephemeral/,
  );
  assert.match(exceededStorage(limited("30Mi"), [stats("c", 9 * Mi)], storage).join(), /^Pod ephemeral/);
  assert.deepEqual(exceededStorage(limited("1Gi"), [stats("c", 9 * Mi)], storage), []);
});

test("file systems that count no inodes have none to run out of", () => {
  const machine = {
    usage: { time: 0 },
    availableBytes: 1,
    interfaces: [],
    processes: 5,
    processLimit: 20,
    startedAt: 0,
  };
  const disk = { time: 0, capacityBytes: 10, availableBytes: 4, usedBytes: 6, inodes: 0, inodesFree: 0 };
  const observations = observationsOf(machine, 100, disk, { ...disk, inodes: 9, inodesFree: 3 });
  assert.equal(observations.has("nodefs.inodesFree"), false);
  assert.deepEqual(observations.get("imagefs.inodesFree"), { available: 3, capacity: 9 });
  assert.deepEqual(observations.get("pid.available"), { available: 15, capacity: 20 });
});
