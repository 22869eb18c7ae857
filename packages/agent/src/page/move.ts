import { SITE_LABEL } from "@fjord/api";

interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface Term {
  readonly matchExpressions?: readonly Expression[];
  readonly matchFields?: readonly Expression[];
}

export interface TemplateAffinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] };
  };
}

/** Where a workload is to run: at one other site, at home, or wherever the scheduler likes. */
export type MoveTarget = { readonly site: string } | "home" | "anywhere";

/**
 * The node selector terms of a pod template that keep its pods at the target; null where none are left. What its owner
 * asks of nodes otherwise stays, and what an earlier move asked for goes.
 */
export function termsFor(affinity: TemplateAffinity | undefined, target: MoveTarget): readonly Term[] | null {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const kept = required
    .map((term) => ({ ...term, matchExpressions: (term.matchExpressions ?? []).filter((each) => !isOurs(each)) }))
    .filter(({ matchExpressions, matchFields = [] }) => matchExpressions.length > 0 || matchFields.length > 0);
  const wanted = expressionFor(target);
  if (wanted === undefined) return kept.length === 0 ? null : kept;
  if (kept.length === 0) return [{ matchExpressions: [wanted] }];
  return kept.map((term) => ({ ...term, matchExpressions: [...term.matchExpressions, wanted] }));
}

/** A merge patch of a workload that moves it; the version makes sure that it is still the one that was looked at. */
export function movePatch(
  workload: {
    metadata: { resourceVersion?: string };
    spec?: { template?: { spec?: { affinity?: TemplateAffinity } } };
  },
  target: MoveTarget,
): object {
  const terms = termsFor(workload.spec?.template?.spec?.affinity, target);
  const required = terms === null ? null : { nodeSelectorTerms: terms };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  return {
    metadata: { resourceVersion: workload.metadata.resourceVersion },
    spec: { template: { spec: { affinity } } },
  };
}

function expressionFor(target: MoveTarget): Expression | undefined {
  if (target === "anywhere") return undefined;
  if (target === "home") return { key: SITE_LABEL, operator: "DoesNotExist" };
  return { key: SITE_LABEL, operator: "In", values: [target.site] };
}

/** What a move writes, by the page or by `fjord move`. */
function isOurs({ key, operator }: Expression): boolean {
  return key === SITE_LABEL && (operator === "In" || operator === "DoesNotExist");
}
