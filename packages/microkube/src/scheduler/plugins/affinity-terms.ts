import { type LabelSelector, matchesSelector } from "@fjord/kube";
import type { AffinityTerm, PodFacts } from "../pod-facts.ts";
import type { Snapshot } from "../snapshot.ts";

export type TermMatch = (other: PodFacts) => boolean;

/** Whether a term of `owner` is about another pod: its namespace and its labels. */
export function termMatch(term: AffinityTerm, owner: PodFacts, snapshot: Snapshot): TermMatch {
  const { namespaces = [], namespaceSelector } = term;
  const selector = selectorOf(term, owner);
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
  const inNamespace = (namespace: string) =>
    (isOwn && namespace === owner.namespace) ||
    namespaces.includes(namespace) ||
    (namespaceSelector !== undefined &&
      matchesSelector(namespaceSelector as LabelSelector, snapshot.namespaceLabels(namespace)));
  if (selector === undefined) return () => false;
  return (other) => inNamespace(other.namespace) && matchesSelector(selector, other.labels);
}

/** The term's selector, narrowed by the owner's own labels where it says so; no selector selects nothing. */
function selectorOf(term: AffinityTerm, { labels }: PodFacts): LabelSelector | undefined {
  if (term.labelSelector === undefined) return undefined;
  const { matchExpressions = [], ...rest } = term.labelSelector as LabelSelector;
  const narrowed = (keys: readonly string[] | undefined, operator: "In" | "NotIn") =>
    (keys ?? []).flatMap((key) => (labels[key] === undefined ? [] : [{ key, operator, values: [labels[key]] }]));
  const more = [...narrowed(term.matchLabelKeys, "In"), ...narrowed(term.mismatchLabelKeys, "NotIn")];
  return { ...rest, matchExpressions: [...matchExpressions, ...more] };
}
