import type { CpuSummary, MemorySummary, Summary } from "./summary.ts";

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** RFC 3339; absent: now. */
  readonly time?: string;
}

/** The answer of `/metrics/resource`, which metrics-server lives on, in Prometheus' text format. */
export function resourceMetrics({ node, pods }: Summary): string {
  const containers = pods.flatMap(({ podRef, containers }) =>
    containers.map((container) => ({
      ...container,
      labels: { container: container.name, namespace: podRef.namespace, pod: podRef.name },
    })),
  );
  const wholePods = pods.map((pod) => ({ ...pod, labels: { namespace: pod.podRef.namespace, pod: pod.podRef.name } }));
  const nodes = [{ ...node, labels: {} }];
  const cpuText = "Cumulative processor time consumed, in core-seconds";
  const memoryText = "Current working set, in bytes";
  return [
    family("container_cpu_usage_seconds_total", "counter", cpuText, containers.flatMap(cpu)),
    family("container_memory_working_set_bytes", "gauge", memoryText, containers.flatMap(memory)),
    family(
      "container_start_time_seconds",
      "gauge",
      "Start time since the epoch, in seconds",
      containers.flatMap(start),
    ),
    family("node_cpu_usage_seconds_total", "counter", cpuText, nodes.flatMap(cpu)),
    family("node_memory_working_set_bytes", "gauge", memoryText, nodes.flatMap(memory)),
    family("pod_cpu_usage_seconds_total", "counter", cpuText, wholePods.flatMap(cpu)),
    family("pod_memory_working_set_bytes", "gauge", memoryText, wholePods.flatMap(memory)),
    family("resource_scrape_error", "gauge", "1 if usage could not be measured, else 0", [{ labels: {}, value: 0 }]),
    family("scrape_error", "gauge", "1 if usage could not be measured, else 0", [{ labels: {}, value: 0 }]),
  ].join("");
}

/** What is served where usage cannot be measured. */
export function failedResourceMetrics(): string {
  const failed = [{ labels: {}, value: 1 }];
  const text = "1 if usage could not be measured, else 0";
  return family("resource_scrape_error", "gauge", text, failed) + family("scrape_error", "gauge", text, failed);
}

type Labelled<T> = T & { readonly labels: Readonly<Record<string, string>> };

function cpu({ cpu, labels }: Labelled<{ cpu?: CpuSummary }>): Sample[] {
  if (cpu?.usageCoreNanoSeconds === undefined) return [];
  return [{ labels, value: cpu.usageCoreNanoSeconds / 1e9, time: cpu.time }];
}

function memory({ memory, labels }: Labelled<{ memory?: MemorySummary }>): Sample[] {
  if (memory?.workingSetBytes === undefined) return [];
  return [{ labels, value: memory.workingSetBytes, time: memory.time }];
}

function start({ startTime, labels }: Labelled<{ startTime: string }>): Sample[] {
  const value = Date.parse(startTime) / 1000;
  return Number.isNaN(value) ? [] : [{ labels, value }];
}

/** One metric in Prometheus' text format; nothing where it has no samples. */
export function family(name: string, type: "counter" | "gauge", help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.map((sample) => line(name, sample)).join("")}`;
}

function line(name: string, { labels, value, time }: Sample): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  const moment = time === undefined ? Number.NaN : Date.parse(time);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}${Number.isNaN(moment) ? "" : ` ${moment}`}\n`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
