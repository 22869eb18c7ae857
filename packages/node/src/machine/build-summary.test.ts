import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStats, SandboxStats } from "../runtime/stats.ts";
import { buildSummary, type SummaryInput } from "./build-summary.ts";
import type { FileSystemUsage, MachineUsage } from "./machine-usage.ts";
import { UsageHistory } from "./usage-history.ts";

const start = Date.UTC(2030, 0, 1);
const pod = { uid: "u", namespace: "n", name: "p" };

function machine(time: number, cpuNanoseconds: number): MachineUsage {
  return {
    usage: { time, cpuNanoseconds, workingSetBytes: 500, usageBytes: 700 },
    availableBytes: 300,
    interfaces: [{ name: "eth0", receivedBytes: 1, sentBytes: 2, receiveErrors: 3, sendErrors: 4 }],
    processes: 10,
    processLimit: 100,
    startedAt: start - 1000,
  };
}

function container(name: string, time: number, cpuNanoseconds: number): ContainerStats {
  const usage = { time, cpuNanoseconds, workingSetBytes: 10, usageBytes: 20 };
  return { id: `id-${name}`, name, pod, startedAt: start, usage, rootFs: { usedBytes: 100 } };
}

function inputAt(seconds: number, history: UsageHistory, more: Partial<SummaryInput> = {}): SummaryInput {
  const time = start + seconds * 1000;
  const sandboxes: SandboxStats[] = [{ id: "s", pod, processes: 3, network: [] }];
  const containers = [container("a", time, seconds * 2e8), container("b", time, seconds * 1e8)];
  return { nodeName: "n1", machine: machine(time, seconds * 1e9), stats: { sandboxes, containers }, history, ...more };
}

const disk: FileSystemUsage = {
  time: start,
  capacityBytes: 1000,
  availableBytes: 600,
  usedBytes: 400,
  inodes: 50,
  inodesFree: 20,
};

test("rates come with the second sample, of node, pods and containers", () => {
  const history = new UsageHistory();
  const first = buildSummary(inputAt(0, history));
  assert.equal(first.node.cpu?.usageNanoCores, undefined);
  const second = buildSummary(inputAt(10, history));
  assert.equal(second.node.cpu?.usageNanoCores, 1e9);
  assert.equal(second.node.cpu?.usageCoreNanoSeconds, 1e10);
  assert.deepEqual(
    second.pods[0]?.containers.map(({ cpu }) => cpu?.usageNanoCores),
    [2e8, 1e8],
  );
  assert.equal(second.pods[0]?.cpu?.usageNanoCores, 3e8);
  assert.equal(second.pods[0]?.memory?.workingSetBytes, 20);
  assert.equal(second.node.memory?.availableBytes, 300);
});

test("a pod's own figures are taken where the runtime has them", () => {
  const usage = { time: start, cpuNanoseconds: 7, workingSetBytes: 99 };
  const stats = { sandboxes: [{ id: "s", pod, usage }], containers: [container("a", start, 1)] };
  const summary = buildSummary(inputAt(0, new UsageHistory(), { stats }));
  assert.equal(summary.pods[0]?.memory?.workingSetBytes, 99);
});

test("file systems, volumes and logs are there with what is left of them", () => {
  const storage = new Map([
    [
      "u",
      {
        volumes: [
          { name: "cache", usedBytes: 30 },
          { name: "data", usedBytes: 40, claim: { name: "c", namespace: "n" } },
        ],
        logs: { a: { usedBytes: 5 } },
      },
    ],
  ]);
  const summary = buildSummary(inputAt(0, new UsageHistory(), { nodeFs: disk, imageFs: disk, storage }));
  assert.equal(summary.node.fs?.inodesUsed, 30);
  assert.equal(summary.node.runtime?.imageFs?.usedBytes, 400);
  const [summaryOfPod] = summary.pods;
  assert.equal(summaryOfPod?.volume?.[0]?.capacityBytes, 1000);
  assert.deepEqual(summaryOfPod?.volume?.[1]?.pvcRef, { name: "c", namespace: "n" });
  assert.equal(summaryOfPod?.containers[0]?.logs?.usedBytes, 5);
  // Two writable layers, a log, and the volume that is not a claim's.
  assert.equal(summaryOfPod?.["ephemeral-storage"]?.usedBytes, 100 + 100 + 5 + 30);
});

test("a pod without running containers is there, without usage", () => {
  const summary = buildSummary(
    inputAt(0, new UsageHistory(), { stats: { sandboxes: [{ id: "s", pod }], containers: [] } }),
  );
  assert.equal(summary.pods[0]?.cpu, undefined);
  assert.deepEqual(summary.pods[0]?.podRef, { name: "p", namespace: "n", uid: "u" });
});

test("a counter that went back gives no rate, and samples too close together the one before", () => {
  const history = new UsageHistory(1_000);
  assert.equal(history.rate("x", 0, 0), undefined);
  assert.equal(history.rate("x", 100, 500), undefined);
  assert.equal(history.rate("x", 1_000, 1_000), 1_000);
  assert.equal(history.rate("x", 1_100, 9_000), 1_000);
  assert.equal(history.rate("x", 2_000, 0), undefined);
  assert.equal(history.rate("x", 3_000, 500), 500);
  history.keepOnly(new Set());
  assert.equal(history.rate("x", 4_000, 600), undefined);
});
