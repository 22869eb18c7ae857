import {
  type ContainerStatus,
  containersOf,
  isTerminal,
  type PodContainer,
  type PodStatus,
} from "../pod-containers.ts";
import type { StatusInput } from "./status-input.ts";

export type PodPhase = NonNullable<PodStatus["phase"]>;

/** The pod's phase by the statuses of its containers. It never leaves "Succeeded" and "Failed". */
export function podPhase(input: StatusInput, statuses: ReadonlyMap<string, ContainerStatus>): PodPhase {
  const before = input.pod.status?.phase;
  if (before !== undefined && isTerminal(before)) return before;
  if (input.ended) return endPhase(input, statuses);
  const containers = containersOf(input.pod);
  if (containers.some((container) => isPendingInit(container, statuses.get(container.name)))) return "Pending";
  const mains = containers.filter(({ role }) => role === "main").map(({ name }) => statuses.get(name));
  const hasRun = (status: ContainerStatus | undefined) =>
    status?.state?.running !== undefined || endOf(status) !== undefined;
  return mains.every(hasRun) ? "Running" : "Pending";
}

function endPhase(input: StatusInput, statuses: ReadonlyMap<string, ContainerStatus>): PodPhase {
  if (input.end !== undefined && input.end.cause !== "deleted" && input.end.cause !== "gone") return "Failed";
  for (const container of containersOf(input.pod)) {
    if (container.role !== "main" && container.role !== "init") continue;
    const end = endOf(statuses.get(container.name));
    if (end?.exitCode !== 0) return "Failed";
  }
  return "Succeeded";
}

function endOf(status: ContainerStatus | undefined) {
  return status?.state?.terminated ?? status?.lastState?.terminated;
}

function isPendingInit(container: PodContainer, status: ContainerStatus | undefined): boolean {
  if (container.role === "init") return status?.state?.terminated?.exitCode !== 0;
  if (container.role !== "sidecar") return false;
  return endOf(status) === undefined && status?.started !== true;
}
