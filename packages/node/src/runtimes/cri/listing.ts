import type { RuntimeContainer, RuntimeSandbox } from "../../runtime/index.ts";
import { containerResources } from "./linux-resources.ts";
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  type PodSandbox,
  PodSandboxState,
} from "./proto/messages.ts";

const states: Readonly<Record<number, RuntimeContainer["state"]>> = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
  [ContainerState.CONTAINER_EXITED]: "exited",
};

/** Milliseconds of a runtime's nanoseconds; what has not happened is 0 or less there. */
export function milliseconds(nanoseconds: bigint): number | undefined {
  return nanoseconds > 0n ? Number(nanoseconds / 1_000_000n) : undefined;
}

/**
 * Whether whoever asked for the start died, or gave it up, before there was a process: containerd says so in words only. The container is
 * then as good as one whose start nobody asked for, except that it cannot be started any more.
 */
function wasNeverBegun({ state, startedAt, reason, message }: ContainerStatus): boolean {
  if (state !== ContainerState.CONTAINER_EXITED || startedAt > 0n || reason !== "StartError") return false;
  if (!message.startsWith("failed to create containerd task")) return false;
  return /context (?:canceled|deadline exceeded)|failed to start shim: .*signal: killed/.test(message);
}

/** One that ended at once may have ended before the runtime wrote down that it had begun. */
function earlier(startedAt: number | undefined, finishedAt: number | undefined): number | undefined {
  return startedAt === undefined || finishedAt === undefined ? startedAt : Math.min(startedAt, finishedAt);
}

/** A container as listed, and what only its status tells. */
export function runtimeContainer(listed: Container, status: ContainerStatus): RuntimeContainer {
  const finishedAt = milliseconds(status.finishedAt);
  const startedAt = earlier(milliseconds(status.startedAt), finishedAt);
  const state = wasNeverBegun(status) ? "created" : (states[status.state] ?? "unknown");
  const user = status.user?.linux;
  const linux = status.resources?.linux;
  return {
    id: listed.id,
    sandbox: listed.podSandboxId,
    name: listed.metadata?.name ?? "",
    attempt: listed.metadata?.attempt ?? 0,
    state,
    createdAt: milliseconds(status.createdAt) ?? 0,
    ...(startedAt !== undefined && { startedAt }),
    ...(state === "exited" && {
      ...(finishedAt !== undefined && { finishedAt }),
      exitCode: status.exitCode,
      reason: status.reason || (status.exitCode === 0 ? "Completed" : "Error"),
      ...(status.message !== "" && { message: status.message }),
    }),
    image: status.image?.userSpecifiedImage || status.image?.image || listed.image?.image || "",
    imageId: status.imageRef || status.imageId || listed.imageRef,
    annotations: listed.annotations,
    logFile: status.logPath,
    ...(user !== undefined && {
      user: { uid: Number(user.uid), gid: Number(user.gid), supplementalGroups: user.supplementalGroups.map(Number) },
    }),
    ...(linux !== undefined && { resources: containerResources(linux) }),
  };
}

export function runtimeSandbox(
  listed: PodSandbox,
  addresses: readonly string[],
  containers: readonly RuntimeContainer[],
): RuntimeSandbox {
  const { uid = "", namespace = "", name = "", attempt = 0 } = listed.metadata ?? {};
  return {
    id: listed.id,
    pod: { uid, namespace, name },
    attempt,
    state: listed.state === PodSandboxState.SANDBOX_READY ? "ready" : "notReady",
    createdAt: milliseconds(listed.createdAt) ?? 0,
    addresses,
    annotations: listed.annotations,
    containers: containers.toSorted((a, b) => b.createdAt - a.createdAt || b.attempt - a.attempt),
  };
}
