import type { KubeObject } from "@fjord/base";
import type { ResourceQuota } from "@fjord/kube";
import { type Amounts, added, count, only, quantityTexts } from "../../admission/amount.ts";
import { type QuotaEvaluator, scopesOf } from "../../admission/quota/quota-evaluator.ts";

export interface Counted {
  readonly evaluator: QuotaEvaluator;
  readonly objects: readonly KubeObject[];
}

/** What a namespace uses of all that a quota limits, in the words of its status. */
export function quotaUsage(quota: ResourceQuota, counted: readonly Counted[], now: number): Record<string, string> {
  const limited = Object.keys(quota.spec?.hard ?? {});
  const scopes = scopesOf(quota);
  let total: Amounts = new Map(limited.map((name) => [name, count(0)]));
  for (const { evaluator, objects } of counted) {
    const names = evaluator.counts(limited);
    if (names.length === 0) continue;
    for (const object of objects) {
      if (!scopes.every((scope) => evaluator.inScope?.(scope, object) ?? false)) continue;
      total = added(total, only(evaluator.usage(object, now), names));
    }
  }
  return quantityTexts(only(total, limited));
}
