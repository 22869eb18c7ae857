import { type ContainerStatus, containersOf, type PodCondition } from "../pod-containers.ts";
import { timeText } from "./container-state.ts";
import type { PodPhase } from "./pod-phase.ts";
import type { StatusInput } from "./status-input.ts";

export type NewCondition = Pick<PodCondition, "type" | "status" | "reason" | "message">;

/** Conditions that the node writes. All others belong to others, and are kept. */
export const ownConditions: readonly string[] = [
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodResizePending",
  "PodResizeInProgress",
  "DisruptionTarget",
];

export function podConditions(
  input: StatusInput,
  phase: PodPhase,
  statuses: ReadonlyMap<string, ContainerStatus>,
  more: readonly NewCondition[] = [],
): PodCondition[] {
  const before = input.pod.status?.conditions ?? [];
  const containersReady = readyCondition("ContainersReady", input, phase, statuses);
  const conditions = [
    sandboxCondition(input),
    initializedCondition(input, phase, statuses),
    gated(readyCondition("Ready", input, phase, statuses), input),
    containersReady,
    ...more,
  ].map((condition) => dated(condition, before, input));
  if (!before.some(({ type }) => type === "PodScheduled")) {
    conditions.push(dated({ type: "PodScheduled", status: "True" }, before, input));
  }
  const types = new Set(conditions.map(({ type }) => type));
  const kept = before.filter(
    ({ type }) => !types.has(type) && (!ownConditions.includes(type) || type === "DisruptionTarget"),
  );
  return [...conditions, ...kept];
}

function sandboxCondition({ observed }: StatusInput): NewCondition {
  const isReady = observed.sandbox?.state === "ready";
  return { type: "PodReadyToStartContainers", status: isReady ? "True" : "False" };
}

function initializedCondition(
  input: StatusInput,
  phase: PodPhase,
  statuses: ReadonlyMap<string, ContainerStatus>,
): NewCondition {
  const type = "Initialized";
  if (phase === "Succeeded") return { type, status: "True", reason: "PodCompleted" };
  const containers = containersOf(input.pod);
  const isBegun = containers.some(({ role, name }) => role === "main" && hasBeenStarted(statuses.get(name)));
  if (isBegun) return { type, status: "True" };
  const incomplete = containers
    .filter(({ role, name }) => {
      const status = statuses.get(name);
      if (role === "init") return status?.state?.terminated?.exitCode !== 0;
      return role === "sidecar" && status?.started !== true;
    })
    .map(({ name }) => name);
  if (incomplete.length === 0) return { type, status: "True" };
  const message = `containers with incomplete status: [${incomplete.join(" ")}]`;
  return { type, status: "False", reason: "ContainersNotInitialized", message };
}

function readyCondition(
  type: string,
  input: StatusInput,
  phase: PodPhase,
  statuses: ReadonlyMap<string, ContainerStatus>,
): NewCondition {
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  const unready = containersOf(input.pod)
    .filter(({ role, name }) => (role === "main" || role === "sidecar") && statuses.get(name)?.ready !== true)
    .map(({ name }) => name);
  if (unready.length === 0) return { type, status: "True" };
  const message = `containers with unready status: [${unready.join(" ")}]`;
  return { type, status: "False", reason: "ContainersNotReady", message };
}

/** Ready also asks for the conditions that others are to set. */
function gated(ready: NewCondition, { pod }: StatusInput): NewCondition {
  if (ready.status !== "True") return ready;
  const missing = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = pod.status?.conditions?.find(({ type }) => type === conditionType);
    if (condition === undefined) {
      return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    }
    if (condition.status === "True") return [];
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`];
  });
  if (missing.length === 0) return ready;
  return { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: missing.join(", ") };
}

function dated(condition: NewCondition, before: readonly PodCondition[], { now, pod }: StatusInput): PodCondition {
  const old = before.find(({ type }) => type === condition.type);
  const { generation } = pod.metadata;
  return {
    ...condition,
    lastTransitionTime:
      old?.status === condition.status && old.lastTransitionTime ? old.lastTransitionTime : timeText(now),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

function hasBeenStarted(status: ContainerStatus | undefined): boolean {
  return status?.containerID !== undefined && status.containerID !== "";
}
