import type { Pod, ReplicaSet } from "@fjord/kube";
import { includesLabels } from "../label-selector.ts";
import { isPodAvailable, isPodReady, type PodTemplate, timestamp } from "../workload/pod-state.ts";

export type ReplicaSetStatus = NonNullable<ReplicaSet["status"]>;

/** What a ReplicaSet and a ReplicationController have in common. */
export interface ReplicaSpec {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly template: PodTemplate;
}

export interface Observed {
  readonly active: readonly Pod[];
  /** Undefined where the kind does not count them. */
  readonly terminating?: number | undefined;
  /** What went wrong while pods were made or deleted. */
  readonly failure?: string | undefined;
  readonly generation: number | undefined;
  readonly now: number;
}

/** The status that follows from the pods there are. */
export function replicaStatus(
  spec: ReplicaSpec,
  old: ReplicaSetStatus | undefined,
  observed: Observed,
): ReplicaSetStatus {
  const { active, terminating, generation, now } = observed;
  const wanted = spec.template.metadata?.labels;
  const ready = active.filter(isPodReady);
  const conditions = conditionsOf(spec, old, observed);
  return {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(({ metadata }) => includesLabels(metadata.labels, wanted)).length || undefined,
    readyReplicas: ready.length || undefined,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, spec.minReadySeconds, now)).length || undefined,
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    observedGeneration: generation,
    ...(conditions.length > 0 && { conditions }),
  };
}

function conditionsOf(
  { replicas }: ReplicaSpec,
  old: ReplicaSetStatus | undefined,
  { active, failure, now }: Observed,
): NonNullable<ReplicaSetStatus["conditions"]> {
  const before = old?.conditions ?? [];
  const others = before.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others;
  if (others.length < before.length) return before;
  const reason = active.length < replicas ? "FailedCreate" : active.length > replicas ? "FailedDelete" : "";
  const condition = {
    type: "ReplicaFailure",
    status: "True",
    reason,
    message: failure,
    lastTransitionTime: timestamp(now),
  };
  return [...others, condition];
}
