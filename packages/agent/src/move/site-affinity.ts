import { SITE_LABEL } from "@fjord/api";
import type { Pod } from "@fjord/kube";

type Affinity = NonNullable<NonNullable<Pod["spec"]>["affinity"]>;
type Required = NonNullable<NonNullable<Affinity["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]>;
type Term = Required["nodeSelectorTerms"][number];
type Expression = NonNullable<Term["matchExpressions"]>[number];

/** Where pods are to run: at the site with an id, at home, or wherever the scheduler likes. */
export type Place = { readonly site: string } | "home" | "anywhere";

/**
 * The affinity that keeps pods at one place. What else was asked for holds beside it; what an earlier move asked for does not.
 * Undefined where nothing is left to ask for.
 */
export function affinityFor(place: Place, before: Affinity | undefined): Affinity | undefined {
  const { nodeAffinity = {}, ...others } = before ?? {};
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } = nodeAffinity;
  const terms = (required?.nodeSelectorTerms ?? []).map(withoutMove).filter(saysSomething);
  const wish = expressionFor(place);
  const narrowed = wish === undefined ? terms : (terms.length === 0 ? [{}] : terms).map((term) => withWish(term, wish));
  const node = {
    ...preferred,
    ...(narrowed.length > 0 && { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: narrowed } }),
  };
  const after = { ...others, ...(Object.keys(node).length > 0 && { nodeAffinity: node }) };
  return Object.keys(after).length > 0 ? after : undefined;
}

/** Where an affinity keeps pods; undefined where no move was asked for. */
export function placeIn(affinity: Affinity | undefined): Place | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const wish = terms.flatMap(({ matchExpressions = [] }) => matchExpressions).find(isMove);
  if (wish === undefined) return undefined;
  return wish.operator === "In" ? { site: wish.values?.[0] ?? "" } : "home";
}

function expressionFor(place: Place): Expression | undefined {
  if (place === "anywhere") return undefined;
  if (place === "home") return { key: SITE_LABEL, operator: "DoesNotExist" };
  return { key: SITE_LABEL, operator: "In", values: [place.site] };
}

function isMove({ key, operator }: Expression): boolean {
  return key === SITE_LABEL && (operator === "In" || operator === "DoesNotExist");
}

function withoutMove({ matchExpressions, ...others }: Term): Term {
  const kept = (matchExpressions ?? []).filter((each) => !isMove(each));
  return { ...others, ...(kept.length > 0 && { matchExpressions: kept }) };
}

function saysSomething({ matchExpressions = [], matchFields = [] }: Term): boolean {
  return matchExpressions.length + matchFields.length > 0;
}

function withWish(term: Term, wish: Expression): Term {
  return { ...term, matchExpressions: [...(term.matchExpressions ?? []), wish] };
}
