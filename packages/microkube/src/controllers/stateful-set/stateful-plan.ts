import { isBeingDeleted, type Pod, type StatefulSet } from "@fjord/kube";
import { scaledValue } from "../workload/int-or-percent.ts";
import { isPodAvailable, isPodFinished, isPodReady, isPodTerminating } from "../workload/pod-state.ts";
import { firstOrdinal, isInRange, ordinalOf, revisionOf } from "./stateful-pod.ts";

export type StatefulSetStatus = NonNullable<StatefulSet["status"]>;

export interface Revisions {
  /** Names of ControllerRevisions. */
  readonly current: string;
  readonly update: string;
}

export interface StatefulPlan {
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  readonly delete: readonly Pod[];
}

/** Two thousand million replicas are a number like any other; who asks for them gets them bit by bit. */
const MOST_AT_ONCE = 500;

const NOTHING: StatefulPlan = { create: [], delete: [] };

/**
 * The next step towards what a set asks for. In order: one pod at a time, each after the one before is available, and
 * from the last when they go. In parallel: all at once, up to a few hundred. Scaling comes before updating.
 */
export function planPods(set: StatefulSet, pods: readonly Pod[], revisions: Revisions, now: number): StatefulPlan {
  if (isBeingDeleted(set)) return NOTHING;
  const inOrder = set.spec?.podManagementPolicy !== "Parallel";
  const { replicas, condemned } = sortOut(set, pods);
  const create: { ordinal: number; revision: string }[] = [];
  const remove: Pod[] = [];
  const first = firstOrdinal(set);
  const isAvailable = (pod: Pod | undefined) => pod !== undefined && isRunningAndAvailable(set, pod, now);
  for (let ordinal = first; ordinal < first + (set.spec?.replicas ?? 1); ordinal++) {
    const pod = replicas.get(ordinal);
    if (pod === undefined) create.push({ ordinal, revision: revisionFor(set, ordinal, revisions) });
    else if (isPodFinished(pod) && !isPodTerminating(pod)) remove.push(pod);
    if ((inOrder && !isAvailable(pod)) || create.length === MOST_AT_ONCE) return { create, delete: remove };
  }
  const unhealthy = condemned.findLast((pod) => !isAvailable(pod));
  for (const pod of condemned) {
    if (!inOrder) {
      if (!isPodTerminating(pod)) remove.push(pod);
      continue;
    }
    const waits = isPodTerminating(pod) || (!isAvailable(pod) && pod !== unhealthy);
    return { create, delete: waits ? [] : [pod] };
  }
  if (set.spec?.updateStrategy?.type === "OnDelete") return { create, delete: remove };
  const complete = [...Array(set.spec?.replicas ?? 1).keys()].map((index) => replicas.get(first + index));
  return { create, delete: [...remove, ...outdated(set, complete, remove, revisions, isAvailable)] };
}

/** Pods to replace because their template is another, from the last, as many as may be missing. */
function outdated(
  set: StatefulSet,
  replicas: readonly (Pod | undefined)[],
  going: readonly Pod[],
  revisions: Revisions,
  isAvailable: (pod: Pod | undefined) => boolean,
): Pod[] {
  const { partition = 0, maxUnavailable } = set.spec?.updateStrategy?.rollingUpdate ?? {};
  const most = Math.max(1, scaledValue(maxUnavailable ?? 1, set.spec?.replicas ?? 1, "up") ?? 1);
  const room = most - replicas.filter((pod) => !isAvailable(pod)).length;
  if (room <= 0) return [];
  return replicas
    .slice(partition)
    .toReversed()
    .filter((pod) => pod !== undefined)
    .filter((pod) => revisionOf(pod) !== revisions.update && !isPodTerminating(pod) && !going.includes(pod))
    .slice(0, room);
}

/** Those that stay, by ordinal, and those that have to go, from the last. */
function sortOut(set: StatefulSet, pods: readonly Pod[]): { replicas: Map<number, Pod>; condemned: Pod[] } {
  const replicas = new Map<number, Pod>();
  const condemned: { pod: Pod; ordinal: number }[] = [];
  for (const pod of pods) {
    const ordinal = ordinalOf(pod, set);
    if (ordinal === undefined) continue;
    if (isInRange(ordinal, set)) replicas.set(ordinal, pod);
    else condemned.push({ pod, ordinal });
  }
  return { replicas, condemned: condemned.toSorted((a, b) => b.ordinal - a.ordinal).map(({ pod }) => pod) };
}

function revisionFor(set: StatefulSet, ordinal: number, { current, update }: Revisions): string {
  const { type = "RollingUpdate", rollingUpdate } = set.spec?.updateStrategy ?? {};
  if (type !== "RollingUpdate") return update;
  const first = firstOrdinal(set);
  const kept = rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0);
  return ordinal < first + kept ? current : update;
}

function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod) && !isPodTerminating(pod);
}

function isRunningAndAvailable({ spec }: StatefulSet, pod: Pod, now: number): boolean {
  return isRunningAndReady(pod) && isPodAvailable(pod, spec?.minReadySeconds ?? 0, now);
}

/** The status that follows from the pods; where an update is complete, it becomes the current revision. */
export function statefulStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: Revisions,
  collisionCount: number,
  now: number,
): StatefulSetStatus {
  const replicas = pods.filter(({ status }) => status?.phase !== undefined).length;
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isPodReady(pod));
  const alive = pods.filter((pod) => !isPodTerminating(pod));
  const of = (revision: string) => alive.filter((pod) => revisionOf(pod) === revision).length;
  const updated = of(revisions.update);
  const wanted = set.spec?.replicas ?? 1;
  const isRolling = (set.spec?.updateStrategy?.type ?? "RollingUpdate") === "RollingUpdate";
  const complete = isRolling && updated === wanted && ready.length === wanted && replicas === wanted;
  return {
    observedGeneration: set.metadata.generation,
    replicas,
    readyReplicas: ready.length || undefined,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, now)).length,
    currentReplicas: (complete ? updated : of(revisions.current)) || undefined,
    updatedReplicas: updated || undefined,
    currentRevision: complete ? revisions.update : revisions.current,
    updateRevision: revisions.update,
    collisionCount,
  };
}
