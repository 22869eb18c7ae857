import { VIRTUAL_NODE } from "@fjord/api";
import { type Deployment, matchesNodeTerm, type Node, type Pod, type SelectableNode } from "@fjord/kube";
import { isAt } from "./nodes-at.ts";
import { podTermObstacles } from "./pod-term-obstacles.ts";
import { affinityFor, type Place } from "./site-affinity.ts";

export type PodTemplate = NonNullable<Deployment["spec"]>["template"];
type PodSpec = NonNullable<PodTemplate["spec"]>;
type Expression = NonNullable<Parameters<typeof matchesNodeTerm>[0]["matchExpressions"]>[number];

/** What pods are to be moved, and what is there. */
export interface Situation {
  readonly template: PodTemplate;
  readonly namespace: string;
  readonly replicas: number;
  /** All nodes, virtual ones too. */
  readonly nodes: readonly Node[];
  /** Those of the namespaces that the template's affinity to pods is about. */
  readonly pods: readonly Pod[];
}

/**
 * What the pods' own wishes have against every node at a place, in words that go on from "cannot be moved there:"; nothing
 * where some node would do.
 */
export function obstaclesAt(place: Exclude<Place, "anywhere">, called: string, situation: Situation): string[] {
  const { template, nodes } = situation;
  const there = nodes.filter((node) => isAt(place, node));
  if (there.length === 0) return [`there is no node at ${called}`];
  const spec: PodSpec = template.spec ?? { containers: [] };
  const against = there.map((node) => ({ node, reasons: nodeObstacles(spec, node) }));
  const usable = against.filter(({ reasons }) => reasons.length === 0).map(({ node }) => node);
  if (usable.length === 0) return [...new Set(against.flatMap(({ reasons }) => reasons))];
  return podTermObstacles(usable, called, situation);
}

/** What pods' own wishes have against one node. */
export function nodeObstacles(spec: PodSpec, node: Node): string[] {
  const name = node.metadata.name ?? "";
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(spec.nodeSelector ?? {})
    .filter(([key, value]) => labels[key] !== value)
    .map(([key, value]) => `its nodeSelector asks for ${key}=${value}, and ${has(name, labels, key)}`);
  return [
    ...(spec.nodeName && spec.nodeName !== name ? [`its pods name the node ${spec.nodeName}`] : []),
    ...selected,
    ...affinityObstacles(spec, { name, labels }),
    ...taintObstacles(spec, node),
  ];
}

/** Terms are alternatives: what an earlier move asked for is none of them. */
function affinityObstacles({ affinity }: PodSpec, node: SelectableNode): string[] {
  const own = affinityFor("anywhere", affinity)?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = own?.nodeSelectorTerms ?? [];
  if (terms.length === 0 || terms.some((term) => matchesNodeTerm(term, node))) return [];
  const unmet = terms.flatMap(({ matchExpressions = [], matchFields = [] }) => [
    ...matchExpressions.filter((each) => !matchesNodeTerm({ matchExpressions: [each] }, node)),
    ...matchFields.filter((each) => !matchesNodeTerm({ matchFields: [each] }, node)),
  ]);
  return unmet.map(
    (each) => `its node affinity asks for ${described(each)}, and ${has(node.name, node.labels, each.key)}`,
  );
}

function described({ key, operator, values = [] }: Expression): string {
  if (operator === "Exists") return `the label ${key}`;
  if (operator === "DoesNotExist") return `no label ${key}`;
  return `${key} ${operator} [${values.join(", ")}]`;
}

function has(node: string, labels: Readonly<Record<string, string>>, key: string): string {
  if (key === "metadata.name") return `the node there is ${node}`;
  const value = labels[key];
  return value === undefined ? `node ${node} has no label ${key}` : `node ${node} has ${key}=${value}`;
}

/** The taint of virtual nodes is Fjord's own, and those about a node's condition come and go. */
function taintObstacles({ tolerations = [] }: PodSpec, { metadata, spec }: Node): string[] {
  const taints = (spec?.taints ?? []).filter(
    ({ key, effect }) =>
      key !== VIRTUAL_NODE && !key.startsWith("node.kubernetes.io/") && effect !== "PreferNoSchedule",
  );
  const unborne = taints.filter(
    (taint) =>
      !tolerations.some(
        ({ key = "", operator = "Equal", value = "", effect }) =>
          (effect ?? taint.effect) === taint.effect &&
          (key === "" || key === taint.key) &&
          (operator === "Exists" || (key !== "" && value === (taint.value ?? ""))),
      ),
  );
  return unborne.map(
    ({ key, value, effect }) =>
      `node ${metadata.name} has the taint ${key}${value ? `=${value}` : ""}:${effect}, which its pods do not tolerate`,
  );
}
