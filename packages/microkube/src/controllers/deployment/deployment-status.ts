import type { Deployment, ReplicaSet } from "@fjord/kube";
import { timeOf, timestamp } from "../workload/pod-state.ts";
import { unavailableOf, wantedReplicas } from "./fence.ts";
import { available, specified, sum } from "./scaling.ts";

export type DeploymentStatus = NonNullable<Deployment["status"]>;
export type DeploymentCondition = NonNullable<DeploymentStatus["conditions"]>[number];

const NO_DEADLINE = 2 ** 31 - 1;

/** The counts that follow from the ReplicaSets, with the conditions there were and whether enough pods are available. */
export function countedStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  now: number,
): DeploymentStatus {
  const availableReplicas = available(all);
  const enough = availableReplicas >= wantedReplicas(deployment) - unavailableOf(deployment);
  const old = deployment.status ?? {};
  const terminating = terminatingReplicas(all);
  const status: DeploymentStatus = {
    observedGeneration: deployment.metadata.generation,
    replicas: sum(all, ({ status }) => status?.replicas) || undefined,
    updatedReplicas: current?.status?.replicas || undefined,
    readyReplicas: sum(all, ({ status }) => status?.readyReplicas) || undefined,
    availableReplicas: availableReplicas || undefined,
    unavailableReplicas: Math.max(0, specified(all) - availableReplicas) || undefined,
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(old.collisionCount !== undefined && { collisionCount: old.collisionCount }),
    conditions: old.conditions,
  };
  return withCondition(
    status,
    enough
      ? condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
      : condition("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    now,
  );
}

/** Undefined where one that has been looked at does not say. */
function terminatingReplicas(all: readonly ReplicaSet[]): number | undefined {
  const silent = ({ status }: ReplicaSet) => status?.observedGeneration && status.terminatingReplicas === undefined;
  return all.some(silent) ? undefined : sum(all, ({ status }) => status?.terminatingReplicas);
}

/** The status during a rollout: whether it has come to its end, gets on, or has got on too long ago. */
export function rolloutStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  now: number,
): DeploymentStatus {
  let status = countedStatus(deployment, all, current, now);
  if (!hasDeadline(deployment)) status = withoutCondition(status, "Progressing");
  const before = conditionOf(deployment.status, "Progressing");
  const isOver =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && before?.reason === "NewReplicaSetAvailable";
  if (hasDeadline(deployment) && !isOver) status = withProgress(deployment, status, current, now);
  const failure = replicaFailure(all, current);
  return failure === undefined ? withoutCondition(status, "ReplicaFailure") : withCondition(status, failure, now);
}

function withProgress(
  deployment: Deployment,
  status: DeploymentStatus,
  current: ReplicaSet | undefined,
  now: number,
): DeploymentStatus {
  const what =
    current === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${current.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const message = `${what} has successfully progressed.`;
    return withCondition(status, condition("Progressing", "True", "NewReplicaSetAvailable", message), now);
  }
  if (isProgressing(deployment, status)) {
    // Even where the reason is the same: the time of the last progress is what the deadline counts from.
    const message = `${what} is progressing.`;
    const before = conditionOf(status, "Progressing");
    const updated = dated(condition("Progressing", "True", "ReplicaSetUpdated", message), now);
    if (before?.status === "True") updated.lastTransitionTime = before.lastTransitionTime;
    return { ...status, conditions: [...without(status.conditions, "Progressing"), updated] };
  }
  if (isTimedOut(deployment, status, now)) {
    const message = `${what} has timed out progressing.`;
    return withCondition(status, condition("Progressing", "False", "ProgressDeadlineExceeded", message), now);
  }
  return status;
}

export function hasDeadline({ spec }: Deployment): boolean {
  return spec?.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE;
}

/** All pods are of the new template and available, and no others are there. */
export function isComplete(deployment: Deployment, status: DeploymentStatus | undefined): boolean {
  const wanted = wantedReplicas(deployment);
  return (
    (status?.updatedReplicas ?? 0) === wanted &&
    (status?.replicas ?? 0) === wanted &&
    (status?.availableReplicas ?? 0) === wanted &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function isProgressing({ status: old = {} }: Deployment, status: DeploymentStatus): boolean {
  const outdated = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas;
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    outdated(status) < outdated(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

function isTimedOut(deployment: Deployment, status: DeploymentStatus, now: number): boolean {
  const progressing = conditionOf(status, "Progressing");
  if (progressing === undefined || progressing.reason === "NewReplicaSetAvailable") return false;
  if (progressing.reason === "ProgressDeadlineExceeded") return true;
  return deadlineOf(deployment, progressing) < now;
}

function deadlineOf({ spec }: Deployment, { lastUpdateTime }: DeploymentCondition): number {
  return (timeOf(lastUpdateTime) ?? 0) + (spec?.progressDeadlineSeconds ?? 600) * 1000;
}

/** Milliseconds until the rollout would be too late; undefined where there is nothing to wait for. */
export function untilDeadline(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const progressing = conditionOf(status, "Progressing");
  if (!hasDeadline(deployment) || progressing === undefined || isComplete(deployment, status)) return undefined;
  if (progressing.reason === "ProgressDeadlineExceeded" || progressing.reason === "NewReplicaSetAvailable") {
    return undefined;
  }
  return Math.max(0, deadlineOf(deployment, progressing) - now) + 1000;
}

/** The condition by which pausing and resuming are told from standing still. */
export function pauseCondition(deployment: Deployment): DeploymentCondition | undefined {
  if (!hasDeadline(deployment)) return undefined;
  const progressing = conditionOf(deployment.status, "Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") return undefined;
  const wasPaused = progressing?.reason === "DeploymentPaused";
  const isPaused = deployment.spec?.paused ?? false;
  if (isPaused === wasPaused) return undefined;
  return isPaused
    ? condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
    : condition("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed");
}

function replicaFailure(all: readonly ReplicaSet[], current: ReplicaSet | undefined): DeploymentCondition | undefined {
  for (const replicaSet of current === undefined ? all : [current, ...all]) {
    const failure = replicaSet.status?.conditions?.find(({ type }) => type === "ReplicaFailure");
    if (failure === undefined) continue;
    const { type, status, reason, message, lastTransitionTime } = failure;
    return { type, status, reason, message, lastTransitionTime, lastUpdateTime: lastTransitionTime };
  }
  return undefined;
}

export function condition(type: string, status: string, reason: string, message: string): DeploymentCondition {
  return { type, status, reason, message };
}

export function conditionOf(status: DeploymentStatus | undefined, type: string): DeploymentCondition | undefined {
  return status?.conditions?.find((candidate) => candidate.type === type);
}

/** Says nothing new where status and reason are as they were; the time of transition follows the status alone. */
export function withCondition(status: DeploymentStatus, wanted: DeploymentCondition, now: number): DeploymentStatus {
  const old = conditionOf(status, wanted.type);
  if (old !== undefined && old.status === wanted.status && old.reason === wanted.reason) return status;
  const updated = dated(wanted, now);
  if (old?.status === wanted.status) updated.lastTransitionTime = old.lastTransitionTime;
  return { ...status, conditions: [...without(status.conditions, wanted.type), updated] };
}

function withoutCondition(status: DeploymentStatus, type: string): DeploymentStatus {
  return conditionOf(status, type) === undefined ? status : { ...status, conditions: without(status.conditions, type) };
}

function without(conditions: readonly DeploymentCondition[] = [], type: string): DeploymentCondition[] {
  return conditions.filter((candidate) => candidate.type !== type);
}

function dated(wanted: DeploymentCondition, now: number): DeploymentCondition {
  return { ...wanted, lastUpdateTime: timestamp(now), lastTransitionTime: wanted.lastTransitionTime ?? timestamp(now) };
}
