import type { RotatedLog } from "../logs/index.ts";
import type { LocatedContainer, PodManager } from "../pod/pod-manager.ts";

type Containers = Pick<PodManager, "pods" | "container">;

/** The logs that are written to now. */
export function runningLogs(manager: Containers): RotatedLog[] {
  return running(manager).map(({ container }) => ({ id: container.id, file: container.logFile }));
}

export async function reopenLog(manager: Containers, id: string): Promise<void> {
  const located = running(manager).find(({ container }) => container.id === id);
  await located?.runtime.reopenLog(id);
}

function running(manager: Containers): LocatedContainer[] {
  return manager.pods().flatMap(({ metadata, spec }) => {
    const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
    return [...initContainers, ...containers, ...ephemeralContainers].flatMap(({ name }) => {
      const { namespace = "", name: pod = "", uid } = metadata;
      const located = manager.container({ namespace, pod, container: name, ...(uid !== undefined && { uid }) });
      return located?.container.state === "running" ? [located] : [];
    });
  });
}
