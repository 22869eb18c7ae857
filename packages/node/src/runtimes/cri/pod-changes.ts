import { type Container, ContainerState, type PodSandbox } from "./proto/cri_pb.ts";

/** What was there at one time: for each sandbox and container, its state and its pod. */
export type Snapshot = ReadonlyMap<string, { readonly state: number; readonly pod: string }>;

export function snapshot(sandboxes: readonly PodSandbox[], containers: readonly Container[]): Snapshot {
  const seen = new Map<string, { state: number; pod: string }>();
  for (const { id, state, metadata } of sandboxes) seen.set(id, { state, pod: metadata?.uid ?? "" });
  for (const { id, state, podSandboxId } of containers) {
    const pod = seen.get(podSandboxId)?.pod;
    if (pod !== undefined) seen.set(id, { state, pod });
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

/** Whether anything may end by itself, so that it pays to look often. */
export function hasRunning(containers: readonly Container[]): boolean {
  return containers.some(({ state }) => state === ContainerState.CONTAINER_RUNNING);
}
