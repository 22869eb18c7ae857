import { type LabelSelector, matchesSelector, type Node, type Pod } from "@fjord/kube";
import type { PodTemplate, Situation } from "./obstacles.ts";

type Affinity = NonNullable<NonNullable<PodTemplate["spec"]>["affinity"]>;
type PodTerm = NonNullable<
  NonNullable<Affinity["podAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>[number];

/** What required affinities to pods, and even spreads, have against all pods being on these nodes. */
export function podTermObstacles(usable: readonly Node[], called: string, situation: Situation): string[] {
  const { podAffinity, podAntiAffinity } = situation.template.spec?.affinity ?? {};
  const together = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const apart = podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...together.flatMap((term) => togetherObstacle(term, usable, called, situation)),
    ...apart.flatMap((term) => apartObstacle(term, usable, called, situation)),
    ...spreadObstacles(usable, called, situation),
  ];
}

/** Namespaces that the required affinities to pods are about, beside those that a selector finds. */
export function namespacesOf({ spec }: PodTemplate, own: string): string[] {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const terms = [podAffinity, podAntiAffinity].flatMap(
    (each) => each?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
  );
  return [...new Set(terms.flatMap((term) => (isBeyondKnowing(term) ? [] : namespacesIn(term, own))))];
}

function namespacesIn({ namespaces = [] }: PodTerm, own: string): readonly string[] {
  return namespaces.length > 0 ? namespaces : [own];
}

/** Which namespaces a selector finds, nobody with rights in one of them can tell. */
function isBeyondKnowing({ namespaceSelector }: PodTerm): boolean {
  return namespaceSelector !== undefined && namespaceSelector !== null;
}

/** The pods that are to be near must be near; the very first of its own kind may be anywhere. */
function togetherObstacle(term: PodTerm, usable: readonly Node[], called: string, situation: Situation): string[] {
  if (isBeyondKnowing(term)) return [];
  const { nodes, template } = situation;
  const near = matching(term, situation);
  const isFirst = near.length === 0 && concerns(term, template, situation);
  const domains = new Set(usable.flatMap((node) => domainOf(node, term.topologyKey) ?? []));
  const isNear = near.some(({ spec }) => {
    const node = nodes.find(({ metadata }) => metadata.name === spec?.nodeName);
    const domain = node === undefined ? undefined : domainOf(node, term.topologyKey);
    return domain !== undefined && domains.has(domain);
  });
  if (isNear || (isFirst && domains.size > 0)) return [];
  const what = `its pod affinity wants pods with ${described(term.labelSelector)} at the same ${term.topologyKey}`;
  return [`${what}, and none of those is at ${called}`];
}

/** One for each domain, and no more. */
function apartObstacle(term: PodTerm, usable: readonly Node[], called: string, situation: Situation): string[] {
  const { template, replicas } = situation;
  if (isBeyondKnowing(term)) return [];
  const domains = usable.map((node) => domainOf(node, term.topologyKey));
  // A node without the label is in no domain: nothing is kept apart there.
  if (domains.includes(undefined)) return [];
  const rooms = new Set(domains).size;
  if (concerns(term, template, situation) && replicas > rooms) {
    const what = `its pod anti-affinity allows one pod at each ${term.topologyKey}`;
    return [`${what}, and ${called} has room for ${rooms} of ${replicas}`];
  }
  return [];
}

/** A spread over all nodes, wherever the pods may go, cannot be even when all of them are at one place. */
function spreadObstacles(usable: readonly Node[], called: string, { template, replicas, nodes }: Situation): string[] {
  const strict = (template.spec?.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable, nodeAffinityPolicy, labelSelector }) =>
      whenUnsatisfiable === "DoNotSchedule" &&
      nodeAffinityPolicy === "Ignore" &&
      matchesSelector((labelSelector ?? {}) as LabelSelector, template.metadata?.labels),
  );
  return strict.flatMap(({ topologyKey, maxSkew }) => {
    const count = (some: readonly Node[]) => new Set(some.flatMap((node) => domainOf(node, topologyKey) ?? [])).size;
    const here = count(usable);
    if (count(nodes) <= here || replicas <= here * maxSkew) return [];
    const what = `its pods are to be spread over every ${topologyKey} with a skew of ${maxSkew} at most`;
    return [`${what}, so that ${called} has room for ${here * maxSkew} of ${replicas}`];
  });
}

function matching(term: PodTerm, { pods, namespace }: Situation): Pod[] {
  const namespaces = namespacesIn(term, namespace);
  return pods.filter(
    ({ metadata, spec }) =>
      namespaces.includes(metadata.namespace ?? "") &&
      metadata.deletionTimestamp === undefined &&
      spec?.nodeName !== undefined &&
      isSelected(term.labelSelector, metadata.labels),
  );
}

/** Whether the term is about the pods themselves. */
function concerns(term: PodTerm, { metadata }: PodTemplate, { namespace }: Situation): boolean {
  return namespacesIn(term, namespace).includes(namespace) && isSelected(term.labelSelector, metadata?.labels);
}

/** A term without a selector is about no pods. */
function isSelected(selector: PodTerm["labelSelector"], labels: Readonly<Record<string, string>> = {}): boolean {
  return selector !== undefined && matchesSelector(selector as LabelSelector, labels);
}

function domainOf({ metadata }: Node, key: string): string | undefined {
  return metadata.labels?.[key];
}

function described(selector: PodTerm["labelSelector"]): string {
  const { matchLabels = {}, matchExpressions = [] } = (selector ?? {}) as LabelSelector;
  const parts = [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => `${key} ${operator} [${values.join(", ")}]`),
  ];
  return parts.join(", ") || "any labels";
}
