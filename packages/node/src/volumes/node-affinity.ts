import type { PersistentVolume } from "@fjord/kube";

type Terms = NonNullable<
  NonNullable<NonNullable<NonNullable<PersistentVolume["spec"]>["nodeAffinity"]>["required"]>["nodeSelectorTerms"]
>;
type Requirement = NonNullable<Terms[number]["matchExpressions"]>[number];

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Whether a node fits one of the terms; a term fits where all of its requirements do, and an empty one never. */
export function matchesTerms(terms: Terms, node: NodeIdentity): boolean {
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((requirement) => meets(requirement, node.labels)) &&
      matchFields.every((requirement) => meets(requirement, { "metadata.name": node.name }))
    );
  });
}

function meets({ key, operator, values = [] }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return compare(value, values[0], (a, b) => a > b);
    case "Lt":
      return compare(value, values[0], (a, b) => a < b);
  }
  return false;
}

function compare(value: string | undefined, limit: string | undefined, holds: (a: bigint, b: bigint) => boolean) {
  const number = /^[+-]?\d+$/;
  if (value === undefined || limit === undefined || !number.test(value) || !number.test(limit)) return false;
  return holds(BigInt(value), BigInt(limit));
}
