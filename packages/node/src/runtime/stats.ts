import type { PodIdentity } from "./runtime.ts";

export interface Usage {
  /** When it was measured. */
  readonly time: number;
  /** Processor time since the start. */
  readonly cpuNanoseconds?: number;
  /** Bytes that cannot be reclaimed under pressure. */
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly usageBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
}

export interface ContainerStats {
  readonly id: string;
  readonly name: string;
  readonly pod: PodIdentity;
  readonly startedAt: number;
  readonly usage: Usage;
  /** Of its writable layer. */
  readonly rootFs?: { usedBytes: number; inodesUsed?: number };
}

export interface SandboxStats {
  readonly id: string;
  readonly pod: PodIdentity;
  /** Of the whole pod, where the runtime knows it; else the sum of the containers is meant. */
  readonly usage?: Usage;
  readonly network?: readonly {
    name: string;
    receivedBytes: number;
    sentBytes: number;
    receiveErrors?: number;
    sendErrors?: number;
  }[];
  readonly processes?: number;
}
