import type { Pod } from "@fjord/kube";
import { inUnits, podRequests } from "@fjord/kube";
import type { Signal } from "./thresholds.ts";

/** A pod and what it uses, as far as is known. */
export interface PodUsage {
  readonly pod: Pod;
  readonly memoryBytes: number;
  /** Writable layers, logs and its own volumes. */
  readonly storageBytes: number;
  readonly inodes: number;
  readonly processes: number;
}

/** From here on the cluster itself depends on a pod. */
const CRITICAL_PRIORITY = 2_000_000_000;

/** Never evicted. */
export function isCritical({ metadata, spec }: Pod): boolean {
  const { annotations = {} } = metadata;
  if (annotations["kubernetes.io/config.mirror"] !== undefined) return true;
  const source = annotations["kubernetes.io/config.source"];
  return (source !== undefined && source !== "api") || (spec?.priority ?? 0) >= CRITICAL_PRIORITY;
}

/**
 * Pods in the order in which they are to go: first those that use more than they asked for, among them the less
 * important, then those that exceed their request by more. Critical ones are left out.
 */
export function rankForEviction(usages: readonly PodUsage[], signal: Signal): PodUsage[] {
  const judged = usages
    .filter(({ pod }) => !isCritical(pod))
    .map((usage) => ({ usage, excess: excessOf(usage, signal), priority: usage.pod.spec?.priority ?? 0 }));
  judged.sort(
    (a, b) =>
      Number(b.excess > 0) - Number(a.excess > 0) ||
      a.priority - b.priority ||
      b.excess - a.excess ||
      startOf(b.usage.pod) - startOf(a.usage.pod),
  );
  return judged.map(({ usage }) => usage);
}

/** How much more than it asked for a pod uses of what has run short; of inodes and processes nobody can ask for any. */
export function excessOf(usage: PodUsage, signal: Signal): number {
  switch (signal) {
    case "memory.available":
      return usage.memoryBytes - requestOf(usage.pod, "memory");
    case "nodefs.available":
    case "imagefs.available":
      return usage.storageBytes - requestOf(usage.pod, "ephemeral-storage");
    case "nodefs.inodesFree":
    case "imagefs.inodesFree":
      return usage.inodes;
    case "pid.available":
      return usage.processes;
  }
}

export function requestOf(pod: Pod, resource: string): number {
  return inUnits(podRequests(pod).get(resource) ?? 0n);
}

/** Of two that are alike, the younger goes: it has less to lose. */
function startOf({ status, metadata }: Pod): number {
  return Date.parse(status?.startTime ?? metadata.creationTimestamp ?? "") || 0;
}
