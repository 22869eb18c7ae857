import { family } from "./resource-metrics.ts";

export interface ProcessFacts {
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly cpuMicroseconds: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly pods: number;
  readonly streams: number;
}

/** The answer of `/metrics`: the node's own process. */
export function processMetrics(facts: ProcessFacts): string {
  const one = (value: number) => [{ labels: {}, value }];
  return [
    family("process_cpu_seconds_total", "counter", "Processor time of this process", one(facts.cpuMicroseconds / 1e6)),
    family("process_resident_memory_bytes", "gauge", "Resident memory of this process", one(facts.residentBytes)),
    family("process_start_time_seconds", "gauge", "Start of this process since the epoch", one(facts.startedAt / 1000)),
    family("nodejs_heap_size_used_bytes", "gauge", "Memory held by objects", one(facts.heapBytes)),
    family("kubelet_running_pods", "gauge", "Pods that run on this node", one(facts.pods)),
    family("fjord_node_streams", "gauge", "Streams of clients that are open", one(facts.streams)),
  ].join("");
}
