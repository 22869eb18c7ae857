import type { RuntimeContainer } from "../../runtime/index.ts";
import type { ContainerStatus } from "../pod-containers.ts";
import type { StatusInput } from "./status-input.ts";

export type ContainerState = NonNullable<ContainerStatus["state"]>;
type Terminated = NonNullable<ContainerState["terminated"]>;

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

export function containerIdText(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

export function terminatedState(container: RuntimeContainer, input: StatusInput): ContainerState {
  const { exitCode = 137, startedAt, finishedAt, reason, id } = container;
  const message = input.messages.get(id) || container.message;
  const terminated: Terminated = {
    exitCode,
    reason: reason || (exitCode === 0 ? "Completed" : "Error"),
    ...(message && { message }),
    ...(startedAt !== undefined && { startedAt: timeText(startedAt) }),
    ...(finishedAt !== undefined && { finishedAt: timeText(finishedAt) }),
    containerID: containerIdText(input.runtimeName, id),
  };
  return { terminated };
}

/** Of a container that ran once and is nowhere to be found. */
export function lostState(message: string): ContainerState {
  return { terminated: { exitCode: 137, reason: "ContainerStatusUnknown", message } };
}
