import type { Pod } from "../kinds/index.ts";

/** What a pod's node selectors are held against. */
export interface SelectableNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

/** Whether the pod's node selector and required node affinity let it run on the node. */
export function selectsNode(pod: Pod, node: SelectableNode): boolean {
  const { nodeSelector = {}, affinity } = pod.spec ?? {};
  const isSelected = Object.entries(nodeSelector).every(([key, value]) => node.labels[key] === value);
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!isSelected || required === undefined) return isSelected;
  return required.nodeSelectorTerms.some((term) => matchesNodeTerm(term, node));
}

/** Whether one term of a node affinity, or of a volume's, is about the node; an empty one is about none. */
export function matchesNodeTerm(term: NodeTerm, node: SelectableNode): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meets(requirement, node.labels[requirement.key])) &&
    matchFields.every((requirement) => requirement.key === "metadata.name" && meets(requirement, node.name))
  );
}

function meets({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  if (operator === "In") return value !== undefined && values.includes(value);
  if (operator === "NotIn") return value === undefined || !values.includes(value);
  if (operator === "Exists") return value !== undefined;
  if (operator === "DoesNotExist") return value === undefined;
  const [bound] = values;
  if (value === undefined || bound === undefined || !/^-?\d+$/.test(value)) return false;
  return operator === "Gt" ? BigInt(value) > BigInt(bound) : operator === "Lt" && BigInt(value) < BigInt(bound);
}
