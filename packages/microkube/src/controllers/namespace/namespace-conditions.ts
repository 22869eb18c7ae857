import type { Namespace } from "@fjord/kube";
import { timestamp } from "../workload/pod-state.ts";

export type NamespaceCondition = NonNullable<NonNullable<Namespace["status"]>["conditions"]>[number];

/** What is left in a namespace that is going away, and what went wrong on the way. */
export interface Remains {
  /** `pods.`, `widgets.example.com`: how many of each. */
  readonly resources: ReadonlyMap<string, number>;
  readonly finalizers: ReadonlyMap<string, number>;
  readonly discoveryFailure?: string;
  readonly failures: readonly string[];
}

const good = {
  NamespaceDeletionDiscoveryFailure: ["ResourcesDiscovered", "All resources successfully discovered"],
  NamespaceDeletionGroupVersionParsingFailure: ["ParsedGroupVersions", "All legacy kube types successfully parsed"],
  NamespaceDeletionContentFailure: [
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  NamespaceContentRemaining: ["ContentRemoved", "All content successfully removed"],
  NamespaceFinalizersRemaining: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
} as const;

/** The conditions of a namespace that is going away, in Kubernetes' words. */
export function terminationConditions(
  old: readonly NamespaceCondition[] = [],
  remains: Remains,
  now: number,
): NamespaceCondition[] {
  const bad = problems(remains);
  const others = old.filter(({ type }) => !(type in good));
  const own = Object.entries(good).map(([type, [reason, message]]) => {
    const before = old.find((condition) => condition.type === type);
    const problem = bad.get(type);
    const status = problem === undefined ? "False" : "True";
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : timestamp(now);
    return { type, status, lastTransitionTime, ...(problem ?? { reason, message }) };
  });
  return [...others, ...own];
}

function problems({ resources, finalizers, discoveryFailure, failures }: Remains) {
  const bad = new Map<string, { reason: string; message: string }>();
  if (discoveryFailure !== undefined) {
    bad.set("NamespaceDeletionDiscoveryFailure", { reason: "DiscoveryFailed", message: discoveryFailure });
  }
  if (failures.length > 0) {
    const message = `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(", ")}`;
    bad.set("NamespaceDeletionContentFailure", { reason: "ContentDeletionFailed", message });
  }
  if (resources.size > 0) {
    const list = [...resources].map(([resource, count]) => `${resource} has ${count} resource instances`);
    const message = `Some resources are remaining: ${list.toSorted().join(", ")}`;
    bad.set("NamespaceContentRemaining", { reason: "SomeResourcesRemain", message });
  }
  if (finalizers.size > 0) {
    const list = [...finalizers].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
    const message = `Some content in the namespace has finalizers remaining: ${list.toSorted().join(", ")}`;
    bad.set("NamespaceFinalizersRemaining", { reason: "SomeFinalizersRemain", message });
  }
  return bad;
}
