import type { Pod, PodDisruptionBudget } from "@fjord/kube";
import { scaledValue } from "../workload/int-or-percent.ts";
import { isPodReady, isPodTerminating, timeOf, timestamp } from "../workload/pod-state.ts";

export type BudgetStatus = NonNullable<PodDisruptionBudget["status"]>;
type Conditions = NonNullable<BudgetStatus["conditions"]>;

/** So long a pod that was evicted counts as gone though it is there. */
const EVICTION_MS = 2 * 60_000;

/** How many pods there should be, and how many of them healthy. `scale` is what their controllers ask for. */
export function expectation(
  { spec }: PodDisruptionBudget,
  pods: number,
  scale: number,
): { expected: number; desired: number } {
  const { minAvailable, maxUnavailable } = spec ?? {};
  if (maxUnavailable !== undefined) {
    const most = scaledValue(maxUnavailable, scale, "up") ?? 0;
    return { expected: scale, desired: Math.max(0, scale - most) };
  }
  if (typeof minAvailable === "string") {
    return { expected: scale, desired: scaledValue(minAvailable, scale, "up") ?? 0 };
  }
  return { expected: pods, desired: minAvailable ?? 1 };
}

/** Whether the scale of the pods' controllers matters to a budget. */
export function needsScale({ spec }: PodDisruptionBudget): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === "string";
}

/** How many disruptions are allowed now, given how many pods are healthy. */
export function budgetStatus(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  { expected, desired }: { expected: number; desired: number },
  now: number,
): { status: BudgetStatus; untilMs: number | undefined } {
  const disrupted = new Map<string, string>();
  let untilMs: number | undefined;
  for (const [name, time] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = pods.find(({ metadata }) => metadata.name === name);
    const left = (timeOf(time) ?? 0) + EVICTION_MS - now;
    if (pod === undefined || isPodTerminating(pod) || left <= 0) continue;
    disrupted.set(name, time);
    untilMs = Math.min(untilMs ?? left, left);
  }
  const healthy = pods.filter(
    (pod) => isPodReady(pod) && !isPodTerminating(pod) && !disrupted.has(pod.metadata.name ?? ""),
  ).length;
  const allowed = expected <= 0 || healthy < desired ? 0 : healthy - desired;
  const generation = budget.metadata.generation;
  const status: BudgetStatus = {
    ...(disrupted.size > 0 && { disruptedPods: Object.fromEntries(disrupted) }),
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    observedGeneration: generation,
    conditions: allowedCondition(budget, allowed > 0 ? "SufficientPods" : "InsufficientPods", "", generation, now),
  };
  return { status, untilMs };
}

export function allowedCondition(
  budget: PodDisruptionBudget,
  reason: "SufficientPods" | "InsufficientPods" | "SyncFailed",
  message: string,
  observedGeneration: number | undefined,
  now: number,
): Conditions {
  const type = "DisruptionAllowed";
  const status = reason === "SufficientPods" ? "True" : "False";
  const before = budget.status?.conditions ?? [];
  const old = before.find((condition) => condition.type === type);
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : timestamp(now);
  const wanted = { type, status, reason, message, observedGeneration, lastTransitionTime } as Conditions[number];
  return [...before.filter((condition) => condition.type !== type), wanted];
}
