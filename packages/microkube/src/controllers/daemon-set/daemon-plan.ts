import type { DaemonSet, Node, Pod } from "@fjord/kube";
import { scaledValue } from "../workload/int-or-percent.ts";
import { isPodAvailable, isPodFinished, isPodReady, isPodTerminating, timeOf } from "../workload/pod-state.ts";
import { fit, REVISION_HASH } from "./daemon-pod.ts";

export type DaemonSetStatus = NonNullable<DaemonSet["status"]>;

/** A node, what the set wants of it, and the set's pods on it. */
export interface Place {
  readonly node: string;
  readonly runs: boolean;
  readonly stays: boolean;
  readonly pods: readonly Pod[];
}

export interface DaemonPlan {
  /** Names of nodes. */
  readonly create: readonly string[];
  readonly delete: readonly Pod[];
  /** Among those to delete: pods that have ended by themselves. */
  readonly ended: readonly Pod[];
}

export function placesOf(set: DaemonSet, nodes: readonly Node[], podsOf: ReadonlyMap<string, readonly Pod[]>): Place[] {
  const known = new Set<string>();
  const places: Place[] = nodes.map((node) => {
    const { name = "" } = node.metadata;
    known.add(name);
    return { node: name, ...fit(set, node), pods: podsOf.get(name) ?? [] };
  });
  // Pods of nodes that are gone.
  for (const [node, pods] of podsOf) if (!known.has(node)) places.push({ node, runs: false, stays: false, pods });
  return places;
}

/** Which nodes get a pod, and which pods have to go, whatever template they are of. */
export function planPlaces(set: DaemonSet, places: readonly Place[], hash: string, now: number): DaemonPlan {
  const create: string[] = [];
  const remove: Pod[] = [];
  const ended: Pod[] = [];
  const surges = limits(set, places).surge > 0;
  for (const { node, runs, stays, pods } of places) {
    if (!stays) {
      remove.push(...pods.filter((pod) => !isPodTerminating(pod)));
      continue;
    }
    const alive: Pod[] = [];
    for (const pod of pods) {
      if (isPodTerminating(pod)) continue;
      if (isPodFinished(pod)) ended.push(pod);
      else alive.push(pod);
    }
    // One that is going still holds its place; the next comes when it is gone.
    const isTaken = pods.length > 0;
    if (runs && !isTaken) create.push(node);
    if (alive.length > 1) remove.push(...surplus(set, alive, hash, surges, now));
  }
  return { create, delete: remove, ended };
}

/** Of several on one node all but the oldest; with a surge, all but the oldest of the old and of the new template. */
function surplus(set: DaemonSet, pods: readonly Pod[], hash: string, surges: boolean, now: number): Pod[] {
  const sorted = byAge(pods);
  if (!surges) return sorted.slice(1);
  const fresh = sorted.filter((pod) => isOf(pod, hash));
  const stale = sorted.filter((pod) => !isOf(pod, hash));
  const [newest] = fresh;
  const isReplaced = newest !== undefined && isPodAvailable(newest, set.spec?.minReadySeconds ?? 0, now);
  return [...fresh.slice(1), ...stale.slice(isReplaced ? 0 : 1)];
}

/** How a rolling update goes on: pods of another template that may go now, and nodes that may have a second pod. */
export function planUpdate(set: DaemonSet, places: readonly Place[], hash: string, now: number): DaemonPlan {
  const own = places.filter(({ runs, stays, pods }) => runs || (stays && pods.length > 0));
  const { surge, unavailable } = limits(set, places);
  const available = (pod: Pod) => isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, now);
  const replaceable: Pod[] = [];
  const candidates: Pod[] = [];
  const freeNodes: string[] = [];
  const candidateNodes: string[] = [];
  let missing = 0;
  let surged = 0;
  for (const { node, runs, pods } of own) {
    const fresh = byAge(pods.filter((pod) => isOf(pod, hash) && !isPodFinished(pod)));
    const stale = byAge(pods.filter((pod) => !isOf(pod, hash) && !isPodFinished(pod)));
    const [newPod] = fresh;
    const [oldPod] = stale;
    if (fresh.length > 1 || stale.length > 1) {
      missing++;
      surged++;
    } else if (surge > 0) {
      if (oldPod === undefined) continue;
      if (newPod !== undefined) {
        if (available(newPod)) replaceable.push(oldPod);
        else surged++;
      } else if (runs) (available(oldPod) ? candidateNodes : freeNodes).push(node);
    } else if (newPod !== undefined && oldPod === undefined) {
      if (!available(newPod)) missing++;
    } else if (oldPod !== undefined && newPod === undefined) {
      if (available(oldPod) && !isPodTerminating(oldPod)) candidates.push(oldPod);
      else {
        missing++;
        if (!isPodTerminating(oldPod)) replaceable.push(oldPod);
      }
    } else missing++;
  }
  const create = surge > 0 ? [...freeNodes, ...candidateNodes.slice(0, Math.max(0, surge - surged))] : [];
  const remove = [...replaceable, ...(surge > 0 ? [] : candidates.slice(0, Math.max(0, unavailable - missing)))];
  return { create, delete: remove.filter((pod) => !isPodTerminating(pod)), ended: [] };
}

function limits(set: DaemonSet, places: readonly Place[]): { surge: number; unavailable: number } {
  const total = places.filter(({ runs }) => runs).length;
  const { maxSurge = 0, maxUnavailable = 1 } = set.spec?.updateStrategy?.rollingUpdate ?? {};
  if (set.spec?.updateStrategy?.type === "OnDelete") return { surge: 0, unavailable: 0 };
  const surge = scaledValue(maxSurge, total, "up") ?? 0;
  const unavailable = scaledValue(maxUnavailable, total, "up") ?? 0;
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

export function daemonStatus(
  set: DaemonSet,
  places: readonly Place[],
  hash: string,
  collisions: number,
  now: number,
): DaemonSetStatus {
  const counts = { desired: 0, current: 0, mis: 0, ready: 0, available: 0, updated: 0 };
  for (const { runs, pods } of places) {
    if (runs) counts.desired++;
    if (pods.length === 0) continue;
    if (!runs) {
      counts.mis++;
      continue;
    }
    counts.current++;
    const best = byAge(pods).toSorted((a, b) => Number(isPodReady(b)) - Number(isPodReady(a)))[0];
    if (best === undefined) continue;
    if (isPodReady(best)) {
      counts.ready++;
      if (isPodAvailable(best, set.spec?.minReadySeconds ?? 0, now)) counts.available++;
    }
    if (isOf(best, hash)) counts.updated++;
  }
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.mis,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    observedGeneration: set.metadata.generation,
    updatedNumberScheduled: counts.updated || undefined,
    numberAvailable: counts.available || undefined,
    numberUnavailable: counts.desired - counts.available || undefined,
    ...((set.status?.collisionCount !== undefined || collisions > 0) && { collisionCount: collisions }),
  };
}

function isOf({ metadata }: Pod, hash: string): boolean {
  return metadata.labels?.[REVISION_HASH] === hash;
}

function byAge(pods: readonly Pod[]): Pod[] {
  return pods.toSorted(
    (a, b) => (timeOf(a.metadata.creationTimestamp) ?? 0) - (timeOf(b.metadata.creationTimestamp) ?? 0),
  );
}
