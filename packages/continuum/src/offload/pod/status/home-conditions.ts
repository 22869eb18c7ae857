import type { Pod } from "@fjord/kube";
import type { ContainerStatus, PodCondition, PodStatus } from "@fjord/node/pod-status";
import { LINK_SILENT } from "../../../offloaded-pods.ts";
import { dateOf, notAfter } from "./sane.ts";

/** On a consumer's pod: whether the provider has taken it, and if not why. Shown once there has been something to say. */
export const OFFLOADED_CONDITION = "fjord.dev/Offloaded";

export type NewCondition = Pick<PodCondition, "type" | "status" | "reason" | "message">;

export interface ConditionInput {
  readonly pod: Pod;
  /** What is told is not yet about what the pod is now. */
  readonly isBehind?: boolean;
  readonly phase: NonNullable<PodStatus["phase"]>;
  readonly initialized: boolean;
  readonly sandboxReady: boolean;
  readonly statuses: ReadonlyMap<string, ContainerStatus>;
  /** The provider ends the guest, though the pod is to stay: another will be made. */
  readonly isLeaving?: boolean;
  readonly disrupted?: { readonly reason: string; readonly message: string };
  readonly offloaded?: Omit<NewCondition, "type">;
  /** Whether packets to the provider's pods are known to get nowhere. */
  readonly isCutOff?: boolean;
  /** What has become of a change of its amounts, while that is not done. */
  readonly resize?: readonly NewCondition[];
  readonly now: number;
}

/** The conditions that a node would write. Readiness is worked out here: a provider does not know the gates of home. */
export function homeConditions(input: ConditionInput): PodCondition[] {
  const { pod, offloaded, disrupted } = input;
  const before = pod.status?.conditions ?? [];
  const conditions: NewCondition[] = [
    { type: "PodReadyToStartContainers", status: input.sandboxReady ? "True" : "False" },
    initialized(input),
    reached(gated(ready("Ready", input), pod), input),
    ready("ContainersReady", input),
  ];
  if (!before.some(({ type }) => type === "PodScheduled")) conditions.push({ type: "PodScheduled", status: "True" });
  if (disrupted !== undefined) conditions.push({ type: "DisruptionTarget", status: "True", ...disrupted });
  if (offloaded !== undefined) conditions.push({ type: OFFLOADED_CONDITION, ...offloaded });
  conditions.push(...(input.resize ?? []));
  return conditions.map((condition) => dated(condition, before, input));
}

function initialized({ pod, phase, statuses, initialized: isInitialized }: ConditionInput): NewCondition {
  const type = "Initialized";
  if (phase === "Succeeded") return { type, status: "True", reason: "PodCompleted" };
  const { initContainers = [] } = pod.spec ?? {};
  if (isInitialized || initContainers.length === 0) return { type, status: "True" };
  const isDone = ({ name, restartPolicy }: (typeof initContainers)[number]) =>
    (restartPolicy === "Always" ? statuses.get(name)?.started : statuses.get(name)?.ready) === true;
  const left = initContainers.filter((each) => !isDone(each)).map(({ name }) => name);
  const message = `containers with incomplete status: [${left.join(" ")}]`;
  return { type, status: "False", reason: "ContainersNotInitialized", message };
}

function ready(type: string, { pod, phase, statuses, isLeaving }: ConditionInput): NewCondition {
  if (isLeaving && type === "Ready" && phase === "Running") {
    return {
      type,
      status: "False",
      reason: "Recreating",
      message: "the provider moves the pod to another of its nodes",
    };
  }
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const awaited = [...initContainers.filter(({ restartPolicy }) => restartPolicy === "Always"), ...containers];
  const unready = awaited.map(({ name }) => name).filter((name) => statuses.get(name)?.ready !== true);
  if (unready.length === 0) return { type, status: "True" };
  const message = `containers with unready status: [${unready.join(" ")}]`;
  return { type, status: "False", reason: "ContainersNotReady", message };
}

function gated(condition: NewCondition, pod: Pod): NewCondition {
  if (condition.status !== "True") return condition;
  const isOpen = (gate: string) =>
    pod.status?.conditions?.some(({ type, status }) => type === gate && status === "True") ?? false;
  const closed = (pod.spec?.readinessGates ?? []).map((gate) => gate.conditionType).filter((gate) => !isOpen(gate));
  if (closed.length === 0) return condition;
  const message = `readiness gates that are not open: ${closed.join(", ")}`;
  return { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message };
}

/** As the pods of a node that is not ready: nobody is to be sent there, though the pod itself may be well. */
function reached(condition: NewCondition, { isCutOff }: ConditionInput): NewCondition {
  return condition.status === "True" && isCutOff ? cutOff : condition;
}

const cutOff: NewCondition = {
  type: "Ready",
  status: "False",
  reason: LINK_SILENT,
  message: "the link to the provider has fallen silent: Services leave the pod out until it answers again",
};

/** A status that differs in whether the pod can be reached; undefined where it says so already. */
export function withReach(status: PodStatus, isCutOff: boolean, now: number): PodStatus | undefined {
  const { conditions = [] } = status;
  const ready = conditions.find(({ type }) => type === "Ready");
  const isNews = isCutOff ? ready?.status === "True" : ready?.reason === LINK_SILENT;
  if (ready === undefined || !isNews) return undefined;
  const { reason: _, message: __, ...rest } = ready;
  const lastTransitionTime = dateOf(now);
  const after = { ...rest, ...(isCutOff ? cutOff : { status: "True" }), lastTransitionTime };
  return { ...status, conditions: conditions.map((each) => (each === ready ? after : each)) };
}

function dated(
  condition: NewCondition,
  before: readonly PodCondition[],
  { now, pod, isBehind }: ConditionInput,
): PodCondition {
  const old = before.find(({ type }) => type === condition.type);
  const since = old?.status === condition.status ? notAfter(old.lastTransitionTime, now) : undefined;
  const generation = observedGeneration(pod, isBehind);
  return {
    ...condition,
    lastTransitionTime: since ?? dateOf(now),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

/** Deleting a pod makes a new generation of it too; that alone is not worth a write to a pod that is about to go. */
export function observedGeneration({ metadata, status }: Pod, isBehind = false): number | undefined {
  if (isBehind) return status?.observedGeneration;
  if (metadata.deletionTimestamp === undefined) return metadata.generation;
  return status?.observedGeneration ?? metadata.generation;
}
