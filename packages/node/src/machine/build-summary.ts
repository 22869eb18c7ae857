import type {
  ContainerSummary,
  CpuSummary,
  FileSystemSummary,
  MemorySummary,
  NetworkSummary,
  PodSummary,
  Summary,
} from "../kubelet-api/summary.ts";
import type { PodIdentity } from "../runtime/runtime.ts";
import type { ContainerStats, SandboxStats, Usage } from "../runtime/stats.ts";
import type { FileSystemUsage, InterfaceUsage, MachineUsage } from "./machine-usage.ts";
import type { UsageHistory } from "./usage-history.ts";

/** Storage that a pod has taken, where somebody has counted it. */
export interface PodStorage {
  readonly volumes: readonly {
    readonly name: string;
    readonly usedBytes: number;
    readonly inodesUsed?: number;
    readonly claim?: { readonly name: string; readonly namespace: string };
  }[];
  /** By container name. */
  readonly logs?: Readonly<Record<string, { usedBytes: number; inodesUsed?: number }>>;
}

export interface SummaryInput {
  readonly nodeName: string;
  readonly machine: MachineUsage;
  readonly nodeFs?: FileSystemUsage;
  readonly imageFs?: FileSystemUsage;
  readonly stats: { readonly sandboxes: readonly SandboxStats[]; readonly containers: readonly ContainerStats[] };
  readonly storage?: ReadonlyMap<string, PodStorage>;
  /** Milliseconds since the epoch, by pod uid; absent: the start of its first container. */
  readonly podStarts?: ReadonlyMap<string, number>;
  readonly history: UsageHistory;
}

/** Puts together what `/stats/summary` answers. Pure but for the history, which learns from what it sees. */
export function buildSummary(input: SummaryInput): Summary {
  const { machine, nodeFs, imageFs, stats, history } = input;
  const pods = new Map<string, { pod: PodIdentity; sandbox?: SandboxStats; containers: ContainerStats[] }>();
  for (const sandbox of stats.sandboxes) pods.set(sandbox.pod.uid, { pod: sandbox.pod, sandbox, containers: [] });
  for (const container of stats.containers) {
    const entry = pods.get(container.pod.uid) ?? { pod: container.pod, containers: [] };
    pods.set(container.pod.uid, entry);
    entry.containers.push(container);
  }
  const summary: Summary = {
    node: {
      nodeName: input.nodeName,
      startTime: timeOf(machine.startedAt),
      ...usageFields("node", machine.usage, history),
      ...networkFields(machine.usage.time, machine.interfaces),
      ...(nodeFs && { fs: fileSystem(nodeFs) }),
      ...(imageFs && { runtime: { imageFs: fileSystem(imageFs), containerFs: fileSystem(imageFs) } }),
      rlimit: { time: timeOf(machine.usage.time), maxpid: machine.processLimit, curproc: machine.processes },
    },
    pods: [...pods.values()].map((each) => podSummary(each, input)),
  };
  if (summary.node.memory) summary.node.memory.availableBytes = machine.availableBytes;
  history.keepOnly(new Set(["node", ...pods.keys(), ...stats.containers.map(({ id }) => id)]));
  return summary;
}

function podSummary(
  { pod, sandbox, containers }: { pod: PodIdentity; sandbox?: SandboxStats; containers: ContainerStats[] },
  input: SummaryInput,
): PodSummary {
  const { history, nodeFs } = input;
  const storage = input.storage?.get(pod.uid);
  const usage = sandbox?.usage ?? sumOf(containers.map((each) => each.usage));
  const firstStart = Math.min(...containers.map(({ startedAt }) => startedAt));
  const start = input.podStarts?.get(pod.uid) ?? (Number.isFinite(firstStart) ? firstStart : (usage?.time ?? 0));
  const time = usage?.time ?? input.machine.usage.time;
  return {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    startTime: timeOf(start),
    containers: containers.map((each) => containerSummary(each, storage, input)),
    ...(usage && usageFields(pod.uid, usage, history)),
    ...(sandbox?.network && networkFields(time, sandbox.network)),
    ...(storage && {
      volume: storage.volumes.map(({ name, usedBytes, inodesUsed, claim }) => ({
        name,
        ...used(time, usedBytes, inodesUsed, nodeFs),
        ...(claim && { pvcRef: claim }),
      })),
    }),
    "ephemeral-storage": used(time, ephemeralBytes(containers, storage), undefined, nodeFs),
    ...(sandbox?.processes !== undefined && { process_stats: { process_count: sandbox.processes } }),
  };
}

function containerSummary(
  stats: ContainerStats,
  storage: PodStorage | undefined,
  input: SummaryInput,
): ContainerSummary {
  const { usage, rootFs, name } = stats;
  const log = storage?.logs?.[name];
  return {
    name,
    startTime: timeOf(stats.startedAt),
    ...usageFields(stats.id, usage, input.history),
    ...(rootFs && { rootfs: used(usage.time, rootFs.usedBytes, rootFs.inodesUsed, input.imageFs ?? input.nodeFs) }),
    ...(log && { logs: used(usage.time, log.usedBytes, log.inodesUsed, input.nodeFs) }),
  };
}

/** Writable layers, logs and those volumes that are the pod's own. */
export function ephemeralBytes(containers: readonly ContainerStats[], storage: PodStorage | undefined): number {
  const layers = containers.map(({ rootFs }) => rootFs?.usedBytes ?? 0);
  const logs = Object.values(storage?.logs ?? {}).map(({ usedBytes }) => usedBytes);
  const volumes = (storage?.volumes ?? []).filter(({ claim }) => claim === undefined);
  return [...layers, ...logs, ...volumes.map(({ usedBytes }) => usedBytes)].reduce((sum, each) => sum + each, 0);
}

function usageFields(id: string, usage: Usage, history: UsageHistory): { cpu?: CpuSummary; memory?: MemorySummary } {
  const time = timeOf(usage.time);
  const { cpuNanoseconds, workingSetBytes, usageBytes, rssBytes, pageFaults, majorPageFaults } = usage;
  const rate = cpuNanoseconds === undefined ? undefined : history.rate(id, usage.time, cpuNanoseconds);
  const cpu = {
    time,
    ...(rate !== undefined && { usageNanoCores: Math.round(rate) }),
    ...(cpuNanoseconds !== undefined && { usageCoreNanoSeconds: Math.round(cpuNanoseconds) }),
  };
  const memory = { time, ...defined({ usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults }) };
  return { ...(cpuNanoseconds !== undefined && { cpu }), ...(workingSetBytes !== undefined && { memory }) };
}

function networkFields(
  time: number,
  interfaces: readonly (Omit<InterfaceUsage, "receiveErrors" | "sendErrors"> & {
    receiveErrors?: number;
    sendErrors?: number;
  })[],
): { network?: NetworkSummary } {
  const all = interfaces.map(({ name, receivedBytes, sentBytes, receiveErrors = 0, sendErrors = 0 }) => ({
    name,
    rxBytes: receivedBytes,
    rxErrors: receiveErrors,
    txBytes: sentBytes,
    txErrors: sendErrors,
  }));
  const [first] = all;
  return first === undefined ? {} : { network: { time: timeOf(time), ...first, interfaces: all } };
}

function fileSystem(usage: FileSystemUsage): FileSystemSummary {
  const { availableBytes, capacityBytes, usedBytes, inodes, inodesFree } = usage;
  const inodesUsed = inodes - inodesFree;
  return { time: timeOf(usage.time), availableBytes, capacityBytes, usedBytes, inodes, inodesFree, inodesUsed };
}

function used(
  time: number,
  usedBytes: number,
  inodesUsed: number | undefined,
  on: FileSystemUsage | undefined,
): FileSystemSummary {
  return {
    time: timeOf(time),
    ...(on && {
      availableBytes: on.availableBytes,
      capacityBytes: on.capacityBytes,
      inodes: on.inodes,
      inodesFree: on.inodesFree,
    }),
    usedBytes,
    ...(inodesUsed !== undefined && { inodesUsed }),
  };
}

function sumOf(usages: readonly Usage[]): Usage | undefined {
  if (usages.length === 0) return undefined;
  const sum = (field: Exclude<keyof Usage, "time">) => {
    const known = usages.map((usage) => usage[field]).filter((value) => value !== undefined);
    return known.length === 0 ? undefined : known.reduce((total, value) => total + value, 0);
  };
  return {
    time: Math.max(...usages.map(({ time }) => time)),
    ...defined({
      cpuNanoseconds: sum("cpuNanoseconds"),
      workingSetBytes: sum("workingSetBytes"),
      rssBytes: sum("rssBytes"),
      usageBytes: sum("usageBytes"),
      pageFaults: sum("pageFaults"),
      majorPageFaults: sum("majorPageFaults"),
    }),
  };
}

function defined<T extends Record<string, number | undefined>>(values: T): { [K in keyof T]?: number } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: number;
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
