import type { ConditionOf, ShadowPod, StatusOf } from "@fjord/api";
import { type NewCondition, type Pod, setCondition } from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";

export type ShadowStatus = StatusOf<typeof ShadowPod>;
type ShadowCondition = ConditionOf<typeof ShadowPod>;
type ReasonOf<Type extends ShadowCondition["type"]> = Extract<ShadowCondition, { type: Type }>["reason"];

/** Whether the contract has room for a shadow pod, and if not why. */
export interface Verdict {
  readonly reason: ReasonOf<"Admitted">;
  readonly message: string;
}

export interface ShadowSources {
  readonly shadow: ShadowPod;
  readonly pod?: Pod;
  /** Absent while it has not been decided. */
  readonly verdict?: Verdict;
  /** The pod is gone for good: why. */
  readonly lost?: string;
  /** How the pod ended that is no longer there. */
  readonly ended?: "Succeeded" | "Failed";
  /** The pod is gone, and another will be made. */
  readonly recreating?: boolean;
  /** How often a pod was made again, as far as is known. */
  readonly recreations: number;
  readonly now: number;
}

/** What a shadow pod's status is to say. Once it has told of an end, it says nothing else. */
export function shadowStatus(sources: ShadowSources): ShadowStatus {
  const { shadow, pod, verdict, now } = sources;
  const before = shadow.status ?? {};
  if (isTerminal(before.phase)) return before;
  let conditions = before.conditions;
  const set = (wanted: Omit<NewCondition<ShadowCondition>, "observedGeneration">) => {
    const { generation } = shadow.metadata;
    const whole = { ...wanted, ...(generation !== undefined && { observedGeneration: generation }) };
    conditions = setCondition(conditions, whole as NewCondition<ShadowCondition>, now).conditions;
  };
  if (verdict !== undefined) {
    const isAdmitted = verdict.reason === "WithinContract";
    set({ type: "Admitted", status: isAdmitted ? "True" : "False", ...verdict } as NewCondition<ShadowCondition>);
  }
  set(scheduled(pod));
  set(running(sources));
  const { name, uid } = pod?.metadata ?? {};
  return {
    ...before,
    phase: phaseOf(sources),
    ...(name !== undefined && { podName: name }),
    ...(uid !== undefined && { podUid: uid }),
    ...(sources.recreations > 0 && { recreations: sources.recreations }),
    ...(conditions && { conditions }),
  };
}

function phaseOf({ pod, lost, ended }: ShadowSources): NonNullable<ShadowStatus["phase"]> {
  if (ended !== undefined) return ended;
  if (lost !== undefined) return "Failed";
  const phase = pod?.status?.phase;
  return phase === "Running" || phase === "Succeeded" || phase === "Failed" ? phase : "Pending";
}

function scheduled(pod: Pod | undefined): NewCondition<ShadowCondition> {
  const type = "Scheduled";
  if (pod === undefined) return { type, status: "False", reason: "NotAdmitted", message: "there is no pod" };
  if (pod.spec?.nodeName) return { type, status: "True", reason: "NodeChosen", message: "" };
  const told = pod.status?.conditions?.find((condition) => condition.type === "PodScheduled");
  return { type, status: "False", reason: "Unschedulable", message: told?.message ?? "it waits for the scheduler" };
}

function running(sources: ShadowSources): NewCondition<ShadowCondition> {
  const type = "Running";
  const phase = phaseOf(sources);
  if (sources.lost !== undefined) return { type, status: "False", reason: "Lost", message: sources.lost };
  if (isTerminal(phase)) return { type, status: "False", reason: "Finished", message: "" };
  if (sources.recreating) return { type, status: "False", reason: "Recreating", message: "" };
  if (phase === "Running") return { type, status: "True", reason: "Started", message: "" };
  return { type, status: "False", reason: "NotStarted", message: "" };
}
