import type { Node, Pod } from "@fjord/kube";
import type { Expression } from "./node-affinity.ts";
import type { Toleration } from "./tolerations.ts";

type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

/** Whether the scheduler may put the pod there: node selector, required affinity and taints, as Kubernetes defines them. */
export function mayLand(pod: Pod, node: Node): boolean {
  return (
    affinityHolds(pod, node) && (node.spec?.taints ?? []).every((taint) => isTolerated(taint, pod.spec?.tolerations))
  );
}

export function affinityHolds({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return selected;
  const holds = required.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length === 0 && matchFields.length === 0) return false;
    const name = { "metadata.name": node.metadata.name ?? "" };
    return matchExpressions.every((each) => meets(labels, each)) && matchFields.every((each) => meets(name, each));
  });
  return selected && holds;
}

function meets(labels: Readonly<Record<string, string>>, { key, operator, values = [] }: Expression): boolean {
  const value = labels[key];
  if (operator === "Exists") return value !== undefined;
  if (operator === "DoesNotExist") return value === undefined;
  if (operator === "In") return value !== undefined && values.includes(value);
  return value === undefined || !values.includes(value);
}

function isTolerated({ key, value = "", effect }: Taint, tolerations: readonly Toleration[] = []): boolean {
  return tolerations.some((each) => {
    if (each.effect !== undefined && each.effect !== effect) return false;
    if (each.operator === "Exists") return each.key === undefined || each.key === key;
    return each.key === key && (each.value ?? "") === value;
  });
}
