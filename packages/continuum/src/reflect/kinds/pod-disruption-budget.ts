import { type LabelSelector, matchesSelector, type Pod, PodDisruptionBudget } from "@fjord/kube";
import type { Body, ReflectedKind } from "../reflected-kind.ts";

/**
 * Budgets, where they protect guests. The provider knows only these: it is told how many of them must stay for the budget as a
 * whole to be kept, since shares and totals are of pods that it cannot count.
 */
export const podDisruptionBudgets: ReflectedKind<PodDisruptionBudget> = {
  kind: PodDisruptionBudget,
  policy: "DenyList",
  follows: ["pods"],
  forge({ spec = {}, status }, context) {
    const { selector, unhealthyPodEvictionPolicy } = spec;
    // An empty selector selects every pod, one that is missing none.
    if (selector === undefined) return undefined;
    const guests = context
      .guests()
      .filter(({ metadata }) => matchesSelector(selector as LabelSelector, metadata.labels));
    if (guests.length === 0) return undefined;
    const healthy = guests.filter(isHealthy).length;
    return {
      spec: {
        selector,
        minAvailable: Math.max(0, healthy - (status?.disruptionsAllowed ?? 0)),
        ...(unhealthyPodEvictionPolicy && { unhealthyPodEvictionPolicy }),
      },
    };
  },
  seen: ({ spec }): Body => ({ spec: { ...spec } }),
};

function isHealthy({ metadata, status }: Pod): boolean {
  const isReady = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
  return isReady && metadata.deletionTimestamp === undefined;
}
