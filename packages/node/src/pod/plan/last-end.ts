import type { Pod } from "@fjord/kube";
import { newest, type ObservedPod } from "../observed-pod.ts";
import type { ContainerStatus } from "../pod-containers.ts";

/** How the newest container of a name ended. */
export interface LastEnd {
  readonly exitCode: number;
  /** Zero where nobody knows. */
  readonly at: number;
}

/** Exit code of a container that has vanished without telling its own. */
export const LOST_EXIT_CODE = 137;

/**
 * How the newest container of a name ended; undefined while it lives and where there was none. One that the pod's status
 * knows and the runtime does not, after a loss of its state, counts as ended.
 */
export function lastEnd(pod: Pod, observed: ObservedPod, name: string): LastEnd | undefined {
  const container = newest(observed, name);
  if (container !== undefined) {
    if (container.state !== "exited") return undefined;
    return { exitCode: container.exitCode ?? LOST_EXIT_CODE, at: container.finishedAt ?? container.createdAt };
  }
  const status = reportedStatus(pod, name);
  const terminated = status?.state?.terminated ?? status?.lastState?.terminated;
  if (terminated !== undefined) {
    return { exitCode: terminated.exitCode, at: Date.parse(terminated.finishedAt ?? "") || 0 };
  }
  return status?.state?.running === undefined ? undefined : { exitCode: LOST_EXIT_CODE, at: 0 };
}

/** The attempt that a new container of the name gets: restart counts never go back. */
export function nextAttempt(pod: Pod, observed: ObservedPod, name: string): number {
  const seen = newest(observed, name)?.attempt ?? -1;
  const status = reportedStatus(pod, name);
  const reported = status?.restartCount ?? 0;
  return Math.max(seen + 1, status !== undefined && hasRun(status) ? reported + 1 : reported);
}

/** Whether the container that the status names was started; one that was only made does not count. */
function hasRun({ containerID, state, lastState }: ContainerStatus): boolean {
  if (!containerID) return false;
  if (state?.waiting === undefined) return true;
  const before = lastState?.terminated;
  return before !== undefined && (before.containerID ?? containerID) === containerID;
}

export function reportedStatus(pod: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const isNamed = (status: ContainerStatus) => status.name === name;
  return (
    containerStatuses.find(isNamed) ?? initContainerStatuses.find(isNamed) ?? ephemeralContainerStatuses.find(isNamed)
  );
}
