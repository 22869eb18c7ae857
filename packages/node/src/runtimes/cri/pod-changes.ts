import { type Container, ContainerState, type PodSandbox, PodSandboxState } from "./proto/messages.ts";

/** What was there at one time: for each sandbox and container, its state, its pod, and whether it may still end. */
export type Snapshot = ReadonlyMap<string, Seen>;

export interface Seen {
  readonly state: number;
  readonly pod: string;
  readonly alive: boolean;
}

export function snapshot(sandboxes: readonly PodSandbox[], containers: readonly Container[]): Snapshot {
  const seen = new Map<string, Seen>();
  for (const { id, state, metadata } of sandboxes) {
    seen.set(id, { state, pod: metadata?.uid ?? "", alive: state === PodSandboxState.SANDBOX_READY });
  }
  for (const { id, state, podSandboxId } of containers) {
    const pod = seen.get(podSandboxId)?.pod;
    if (pod !== undefined) seen.set(id, { state, pod, alive: state === ContainerState.CONTAINER_RUNNING });
  }
  return seen;
}

/** Uids of the pods of which something differs. */
export function changedPods(before: Snapshot, after: Snapshot): Set<string> {
  const pods = new Set<string>();
  for (const [id, { state, pod }] of after) if (before.get(id)?.state !== state) pods.add(pod);
  for (const [id, { pod }] of before) if (!after.has(id)) pods.add(pod);
  return pods;
}
