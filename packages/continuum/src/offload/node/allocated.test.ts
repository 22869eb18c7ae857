import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import type { Pod } from "@fjord/kube";
import type { OffloadedPods } from "../../offloaded-pods.ts";
import { AllocatedAmounts, allocatedBy } from "./allocated.ts";
import { podOf } from "./test-objects.ts";

test("what pods ask for adds up; those that have ended take nothing", () => {
  const pods = [
    podOf("a", { cpu: "250m", memory: "64Mi" }),
    podOf("b", { cpu: "1", "nvidia.com/gpu": "1" }),
    podOf("c", { cpu: "8" }, { phase: "Succeeded" }),
    podOf("d", { cpu: "8" }, { phase: "Failed" }),
  ];
  assert.deepEqual(allocatedBy(pods), { pods: "2", cpu: "1250m", memory: "64Mi", "nvidia.com/gpu": "1" });
  assert.deepEqual(allocatedBy([]), { pods: "0", cpu: "0", memory: "0" });
});

test("no more kinds of resources are told than the status takes", () => {
  const requests = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`example.com/r${i}`, "1"]));
  assert.equal(Object.keys(allocatedBy([podOf("a", requests)])).length, 12);
});

test("a burst of pods is counted once, and a pod that is gone too", async () => {
  const clock = new ManualClock();
  const here = new Map<string, Pod>();
  const listeners = new Set<(namespace: string, name: string) => void>();
  const node = { name: "lively-wave" };
  const pods = {
    get: (_: string, name: string) => (here.has(name) ? { pod: here.get(name), node } : undefined),
    onNode: () => [...here.values()].map((pod) => ({ pod, node })),
    onChange: (listener: (namespace: string, name: string) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as OffloadedPods;
  const tell = (name: string) => {
    for (const listener of listeners) listener("shop", name);
  };
  const told: string[] = [];
  const counted = new AllocatedAmounts({
    pods,
    clock,
    nodes: () => ["lively-wave"],
    onChange: (name) => told.push(name),
  });
  const stop = new AbortController();
  const running = counted.run(stop.signal);
  for (let i = 0; i < 100; i++) {
    here.set(`p${i}`, podOf(`p${i}`, { cpu: "100m" }));
    tell(`p${i}`);
  }
  await clock.advance(1_000);
  assert.deepEqual(told, ["lively-wave"]);
  assert.deepEqual(counted.of("lively-wave"), { pods: "100", cpu: "10", memory: "0" });
  here.delete("p0");
  tell("p0");
  await clock.advance(3_000);
  assert.equal(told.length, 1);
  await clock.advance(2_000);
  assert.deepEqual(counted.of("lively-wave"), { pods: "99", cpu: "9900m", memory: "0" });
  tell("p1");
  await clock.advance(60_000);
  assert.equal(told.length, 2);
  stop.abort();
  await running;
});
