import type { Offloading } from "@fjord/api";
import { matchesSelector, type Node } from "@fjord/kube";

type Selector = Offloading["spec"]["sites"];
type Expression = NonNullable<Selector["matchExpressions"]>[number];

const MOST_NODES = 3;

/** Why no virtual node is eligible, with what there is instead: a misspelt value is found by the right one. */
export function selectorMissed(selector: Selector, nodes: readonly Node[]): string {
  if (nodes.length === 0) return "there is no virtual node yet: `fjord peer` makes one";
  const terms: Expression[] = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({
      key,
      operator: "In" as const,
      values: [value],
    })),
    ...(selector.matchExpressions ?? []),
  ];
  const base = "no virtual node matches spec.sites";
  if (terms.length === 0) return base;
  const has = nodes.slice(0, MOST_NODES).map(({ metadata }) => {
    const labels = metadata.labels ?? {};
    const keys = terms.filter((term) => !matchesSelector({ matchExpressions: [term] }, labels)).map(({ key }) => key);
    const told = [...new Set(keys)].map((key) => (labels[key] === undefined ? `no ${key}` : `${key}=${labels[key]}`));
    return `${metadata.name} has ${told.join(", ")}`;
  });
  const more = nodes.length > MOST_NODES ? `, and there are ${nodes.length - MOST_NODES} more` : "";
  return `${base} (--selector), ${terms.map(described).join(", ")}: ${has.join("; ")}${more}`;
}

function described({ key, operator, values = [] }: Expression): string {
  if (operator === "Exists") return `the label ${key}`;
  if (operator === "DoesNotExist") return `no label ${key}`;
  return operator === "In" && values.length === 1 ? `${key}=${values[0]}` : `${key} ${operator} [${values.join(", ")}]`;
}
