import { parseQuantity } from "@fjord/kube";
import type { ContainerSummary, CpuSummary, MemorySummary, PodSummary, Summary } from "../kubelet-api/summary.ts";
import { containerOf } from "../pod/pod-containers.ts";
import { usageAt } from "../runtimes/simulated/index.ts";
import type { LivingPod } from "./fleet-pods.ts";
import type { LivedContainer } from "./pod-life.ts";

type Usage = ReturnType<typeof usageAt>;

const nothing: Usage = { processors: 0, cpuNanoseconds: 0, memoryBytes: 0 };

/** What a simulated node and its pods use, for `/stats/summary` and `/metrics/resource`. */
export function fleetSummary(nodeName: string, pods: readonly LivingPod[], now: number): Summary {
  const time = new Date(now).toISOString();
  const all = pods.map((pod) => podSummary(pod, now, time));
  const starts = pods.map(({ life }) => life.sandbox?.createdAt ?? now);
  return {
    node: {
      nodeName,
      startTime: new Date(Math.min(now, ...starts)).toISOString(),
      ...usageFields(sum(all.map(({ usage }) => usage)), time),
    },
    pods: all.map(({ summary }) => summary),
  };
}

function podSummary({ pod, life, settings }: LivingPod, now: number, time: string) {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const running = life.containers.filter(({ finishedAt }) => finishedAt === undefined);
  const usages = running.map((container) =>
    usageAt(now, {
      settings,
      podUid: uid,
      container: container.name,
      startedAt: container.startedAt,
      requests: requestsOf(pod, container),
    }),
  );
  const containers: ContainerSummary[] = running.map((container, index) => ({
    name: container.name,
    startTime: new Date(container.startedAt).toISOString(),
    ...usageFields(usages[index] ?? nothing, time),
  }));
  const usage = sum(usages);
  const startTime = new Date(life.sandbox?.createdAt ?? now).toISOString();
  const podRef = { name, namespace, uid };
  const summary: PodSummary = { podRef, startTime, containers, ...usageFields(usage, time) };
  return { usage, summary };
}

function requestsOf(pod: LivingPod["pod"], { name }: LivedContainer): { cpu?: number; memory?: number } {
  const { requests = {}, limits = {} } = containerOf(pod, name)?.spec.resources ?? {};
  const units = (resource: string) => {
    const text = requests[resource] ?? limits[resource];
    return text === undefined ? undefined : Number(parseQuantity(text)) / 1e9;
  };
  const [cpu, memory] = [units("cpu"), units("memory")];
  return { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
}

function usageFields(usage: Usage, time: string): { cpu: CpuSummary; memory: MemorySummary } {
  const { processors, cpuNanoseconds, memoryBytes } = usage;
  return {
    cpu: {
      time,
      usageNanoCores: Math.round(processors * 1e9),
      usageCoreNanoSeconds: Math.round(cpuNanoseconds),
    },
    memory: { time, workingSetBytes: memoryBytes, usageBytes: memoryBytes, rssBytes: memoryBytes },
  };
}

function sum(usages: readonly Usage[]): Usage {
  return usages.reduce(
    (total, { processors, cpuNanoseconds, memoryBytes }) => ({
      processors: total.processors + processors,
      cpuNanoseconds: total.cpuNanoseconds + cpuNanoseconds,
      memoryBytes: total.memoryBytes + memoryBytes,
    }),
    nothing,
  );
}
