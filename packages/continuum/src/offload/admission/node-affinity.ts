import { type Pod, sameContent } from "@fjord/kube";

export type Affinity = NonNullable<NonNullable<Pod["spec"]>["affinity"]>;
type Required = NonNullable<NonNullable<Affinity["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]>;
export type NodeSelectorTerm = Required["nodeSelectorTerms"][number];
export type Expression = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];

/**
 * The affinity that holds where the given one does and, besides, all of one of the alternatives. Terms are ORed, what is
 * in one is ANDed.
 */
export function narrowed(affinity: Affinity | undefined, alternatives: readonly Expression[][]): Affinity {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms ?? [];
  const given = terms.filter((term) => !saysNothing(term));
  // A term without a condition matches no node, and neither do many of them: that is left as it is.
  if (affinity !== undefined && terms.length > 0 && given.length === 0) return affinity;
  const nodeSelectorTerms = (given.length === 0 ? [{}] : given).flatMap((term) => narrowedTerms(term, alternatives));
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
}

function narrowedTerms(term: NodeSelectorTerm, alternatives: readonly Expression[][]): NodeSelectorTerm[] {
  const present = term.matchExpressions ?? [];
  const has = (expression: Expression) => present.some((each) => sameContent(each, expression));
  if (alternatives.some((expressions) => expressions.every(has))) return [term];
  return alternatives.map((expressions) => ({ ...term, matchExpressions: [...present, ...expressions] }));
}

function saysNothing({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.length === 0 && matchFields.length === 0;
}
