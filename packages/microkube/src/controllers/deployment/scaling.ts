import type { Deployment, ReplicaSet } from "@fjord/kube";
import { isRolling, surgeOf, unavailableOf, wantedReplicas } from "./fence.ts";
import { byAge, countAnnotation, DESIRED_REPLICAS, MAX_REPLICAS } from "./revision.ts";

/** A ReplicaSet and the size that it should have. */
export interface Sizing {
  readonly replicaSet: ReplicaSet;
  readonly replicas: number;
  /** Its annotations must be brought up to date even where the size stays. */
  readonly force?: boolean;
}

export function sum(replicaSets: readonly ReplicaSet[], count: (replicaSet: ReplicaSet) => number | undefined): number {
  return replicaSets.reduce((total, replicaSet) => total + (count(replicaSet) ?? 0), 0);
}

export const specified = (replicaSets: readonly ReplicaSet[]): number => sum(replicaSets, wantedReplicas);
export const available = (replicaSets: readonly ReplicaSet[]): number =>
  sum(replicaSets, ({ status }) => status?.availableReplicas);

export function withPods(replicaSets: readonly ReplicaSet[]): ReplicaSet[] {
  return replicaSets.filter((replicaSet) => wantedReplicas(replicaSet) > 0);
}

/** Whether somebody has scaled the Deployment since its ReplicaSets were told of its size. */
export function isScaled(deployment: Deployment, all: readonly ReplicaSet[]): boolean {
  return withPods(all).some((replicaSet) => {
    const desired = countAnnotation(replicaSet, DESIRED_REPLICAS);
    return desired !== undefined && desired !== wantedReplicas(deployment);
  });
}

/** The size of the new ReplicaSet in a rollout: as many as fit, counting what is still there of the old. */
export function newSize(deployment: Deployment, all: readonly ReplicaSet[], current: number): number {
  const wanted = wantedReplicas(deployment);
  if (!isRolling(deployment)) return wanted;
  const room = wanted + surgeOf(deployment) - specified(all);
  return room <= 0 ? current : current + Math.min(room, wanted - current);
}

/** How far the old ReplicaSets can shrink now: first by what is unhealthy, then by what the new one makes up for. */
export function shrinkOld(deployment: Deployment, old: readonly ReplicaSet[], current: ReplicaSet): Sizing[] {
  const active = byAge(withPods(old));
  if (active.length === 0) return [];
  const least = wantedReplicas(deployment) - unavailableOf(deployment);
  const newMissing = wantedReplicas(current) - (current.status?.availableReplicas ?? 0);
  const sizes = new Map(active.map((replicaSet) => [replicaSet, wantedReplicas(replicaSet)]));
  let room = specified([...old, current]) - least - newMissing;
  if (room <= 0) return [];
  for (const [replicaSet, size] of sizes) {
    const unhealthy = Math.min(room, size - (replicaSet.status?.availableReplicas ?? 0));
    if (unhealthy <= 0) continue;
    sizes.set(replicaSet, size - unhealthy);
    room -= unhealthy;
  }
  let spare = available([...active, current]) - least;
  for (const [replicaSet, size] of sizes) {
    const fewer = Math.min(size, spare);
    if (fewer <= 0) continue;
    sizes.set(replicaSet, size - fewer);
    spare -= fewer;
  }
  return active
    .map((replicaSet) => ({ replicaSet, replicas: sizes.get(replicaSet) ?? 0 }))
    .filter(({ replicaSet, replicas }) => replicas !== wantedReplicas(replicaSet));
}

/**
 * New sizes after the Deployment itself was scaled, or while it is paused. In the midst of a rollout each ReplicaSet gets
 * its share, so that scaling does not hasten the rollout.
 */
export function rescale(deployment: Deployment, current: ReplicaSet | undefined, old: readonly ReplicaSet[]): Sizing[] {
  const wanted = wantedReplicas(deployment);
  const all = current === undefined ? [...old] : [...old, current];
  const active = withPods(all);
  const only = active.length === 1 ? active[0] : undefined;
  const latest = active.length === 0 ? (current ?? byAge(old).at(-1)) : only;
  if (active.length <= 1) {
    return latest === undefined || wantedReplicas(latest) === wanted ? [] : [{ replicaSet: latest, replicas: wanted }];
  }
  if (current !== undefined && isSaturated(deployment, current)) {
    return withPods(old).map((replicaSet) => ({ replicaSet, replicas: 0 }));
  }
  return isRolling(deployment) ? proportional(deployment, active) : [];
}

function isSaturated(deployment: Deployment, replicaSet: ReplicaSet): boolean {
  const wanted = wantedReplicas(deployment);
  return (
    wantedReplicas(replicaSet) === wanted &&
    countAnnotation(replicaSet, DESIRED_REPLICAS) === wanted &&
    (replicaSet.status?.availableReplicas ?? 0) === wanted
  );
}

function proportional(deployment: Deployment, active: readonly ReplicaSet[]): Sizing[] {
  const wanted = wantedReplicas(deployment);
  const allowed = wanted > 0 ? wanted + surgeOf(deployment) : 0;
  const toAdd = allowed - specified(active);
  const oldestFirst = byAge(active);
  const sorted = (toAdd > 0 ? oldestFirst.toReversed() : oldestFirst).toSorted(
    (a, b) => wantedReplicas(b) - wantedReplicas(a),
  );
  let added = 0;
  const sizes = sorted.map((replicaSet) => {
    const share = toAdd === 0 || added === toAdd ? 0 : fraction(deployment, replicaSet);
    const bounded = toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added);
    const change = toAdd === 0 ? 0 : bounded;
    added += change;
    return wantedReplicas(replicaSet) + change;
  });
  // What rounding left over goes to the largest.
  return sorted.map((replicaSet, i) => ({
    replicaSet,
    replicas: i === 0 ? Math.max(0, (sizes[0] ?? 0) + toAdd - added) : (sizes[i] ?? 0),
    force: true,
  }));
}

function fraction(deployment: Deployment, replicaSet: ReplicaSet): number {
  const size = wantedReplicas(replicaSet);
  const wanted = wantedReplicas(deployment);
  if (wanted === 0) return -size;
  const before = countAnnotation(replicaSet, MAX_REPLICAS) || deployment.status?.replicas || 0;
  return before === 0 ? 0 : Math.round((size * (wanted + surgeOf(deployment))) / before) - size;
}
