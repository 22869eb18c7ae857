import type { ResourceQuota } from "@fjord/kube";
import type { Cluster } from "../../cluster.ts";
import { type Amounts, added, count, only } from "../amount.ts";
import { quotaEvaluator, quotaMatches } from "./quota-evaluator.ts";

/** What of a quota is used, counted anew from all that is there now. */
export function countUsage(cluster: Cluster, quota: ResourceQuota): Amounts {
  const { namespace = "" } = quota.metadata;
  const names = Object.keys(quota.status?.hard ?? {});
  const now = cluster.clock.now();
  let used: Amounts = new Map(names.map((name) => [name, count(0)]));
  for (const type of cluster.types.list()) {
    const evaluator = type.namespaced && type.storedAs === undefined ? quotaEvaluator(type) : undefined;
    const counted = evaluator?.counts(names) ?? [];
    if (evaluator === undefined || counted.length === 0) continue;
    for (const object of cluster.list(type, namespace)) {
      if (quotaMatches(quota, evaluator, object)) used = added(used, only(evaluator.usage(object, now), counted));
    }
  }
  return used;
}
