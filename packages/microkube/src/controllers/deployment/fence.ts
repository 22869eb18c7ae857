import type { Deployment, ReplicaSet } from "@fjord/kube";
import { scaledValue } from "../workload/int-or-percent.ts";

export function wantedReplicas({ spec }: Deployment | ReplicaSet): number {
  return spec?.replicas ?? 1;
}

export function isRolling({ spec }: Deployment): boolean {
  return (spec?.strategy?.type ?? "RollingUpdate") === "RollingUpdate";
}

/** Pods that a rollout may have on top of those wanted. */
export function surgeOf(deployment: Deployment): number {
  return isRolling(deployment) ? fence(deployment).surge : 0;
}

/** Pods that may be missing during a rollout. */
export function unavailableOf(deployment: Deployment): number {
  const replicas = wantedReplicas(deployment);
  if (!isRolling(deployment) || replicas === 0) return 0;
  return Math.min(fence(deployment).unavailable, replicas);
}

/** With neither a pod more nor one less, no rollout could begin: then one may be missing. */
function fence(deployment: Deployment): { surge: number; unavailable: number } {
  const replicas = wantedReplicas(deployment);
  const { maxSurge = "25%", maxUnavailable = "25%" } = deployment.spec?.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, replicas, "up") ?? 0;
  const unavailable = scaledValue(maxUnavailable, replicas, "down") ?? 0;
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}
