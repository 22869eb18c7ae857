import { type LabelSelector, matchesSelector } from "@fjord/kube";
import type { AffinityTerm, PodFacts } from "../pod-facts.ts";
import type { Snapshot } from "../snapshot.ts";

export type TermMatch = (other: PodFacts) => boolean;

/** Whether a term of `owner` is about another pod: its namespace and its labels. */
export function termMatch(term: AffinityTerm, owner: PodFacts, snapshot: Snapshot): TermMatch {
  const { namespaces = [], namespaceSelector } = term;
  // Labels that a term names by key are in its selector since the pod was created.
  const selector = term.labelSelector as LabelSelector | undefined;
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
  const inNamespace = (namespace: string) =>
    (isOwn && namespace === owner.namespace) ||
    namespaces.includes(namespace) ||
    (namespaceSelector !== undefined &&
      matchesSelector(namespaceSelector as LabelSelector, snapshot.namespaceLabels(namespace)));
  if (selector === undefined) return () => false;
  return (other) => inNamespace(other.namespace) && matchesSelector(selector, other.labels);
}
