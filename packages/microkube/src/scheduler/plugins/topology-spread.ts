import { type LabelSelector, matchesSelector, type Pod, selectsNode } from "@fjord/kube";
import type { NodeFacts } from "../node-facts.ts";
import { type FilterPlugin, refused, type ScorePlugin } from "../plugin.ts";
import type { PodFacts } from "../pod-facts.ts";
import type { Snapshot } from "../snapshot.ts";
import { isTolerated } from "./tolerations.ts";

type Constraint = NonNullable<NonNullable<Pod["spec"]>["topologySpreadConstraints"]>[number];

interface Spread {
  readonly key: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly matchesSelf: boolean;
}

const skewed = refused("node(s) didn't match pod topology spread constraints", false);
const unlabelled = refused("node(s) didn't match pod topology spread constraints (missing required label)", true);

export const topologySpread: FilterPlugin = {
  name: "PodTopologySpread",
  prepare(pod, snapshot) {
    const constraints = constraintsOf(pod, "DoNotSchedule");
    if (constraints.length === 0) return undefined;
    const spreads = constraints.map((constraint) => spreadOf(constraint, constraints, pod, snapshot));
    return ({ labels }) => {
      for (const { key, counts, matchesSelf, maxSkew, minDomains } of spreads) {
        const place = labels[key];
        if (place === undefined) return unlabelled;
        const least = counts.size < minDomains ? 0 : Math.min(...counts.values());
        // A node that is not among those that count has no share of its own yet.
        const here = (counts.get(place) ?? 0) + (matchesSelf ? 1 : 0);
        if (here - (Number.isFinite(least) ? least : 0) > maxSkew) return skewed;
      }
      return undefined;
    };
  },
};

/** Where a pod says nothing of its own, those of one controller are spread all the same, by zones and by nodes. */
const defaults = [
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 3, whenUnsatisfiable: "ScheduleAnyway" },
  { topologyKey: "kubernetes.io/hostname", maxSkew: 5, whenUnsatisfiable: "ScheduleAnyway" },
] as const satisfies readonly Partial<Constraint>[];

export const topologySpreadScore: ScorePlugin = {
  name: "PodTopologySpread",
  weight: 2,
  scale: "lowest",
  prepare(pod, snapshot, feasible) {
    const given = constraintsOf(pod, "ScheduleAnyway");
    const isDefault = (pod.pod.spec?.topologySpreadConstraints ?? []).length === 0;
    if (given.length === 0 && (!isDefault || pod.controller === undefined)) return undefined;
    const spreads = isDefault
      ? defaults.map(({ topologyKey, maxSkew }) => ({
          key: topologyKey,
          maxSkew,
          counts: count(snapshot.nodes, topologyKey, (other) => other.controller === pod.controller),
        }))
      : given.map((constraint) => spreadOf(constraint, given, pod, snapshot));
    // The fewer places there are, the less does one pod more or less in each of them say.
    const places = spreads.map(({ key }) => new Set(feasible.map(({ labels }) => labels[key])).size);
    return ({ labels }) =>
      spreads.reduce((sum, { key, counts, maxSkew }, index) => {
        const place = labels[key];
        return place === undefined
          ? sum
          : sum + (counts.get(place) ?? 0) * Math.log((places[index] ?? 0) + 2) + (maxSkew - 1);
      }, 0);
  },
};

function constraintsOf({ pod }: PodFacts, mode: "DoNotSchedule" | "ScheduleAnyway"): Constraint[] {
  return (pod.spec?.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === mode);
}

function spreadOf(constraint: Constraint, all: readonly Constraint[], pod: PodFacts, snapshot: Snapshot): Spread {
  const { topologyKey: key, maxSkew, minDomains = 1, labelSelector, matchLabelKeys = [] } = constraint;
  const { nodeAffinityPolicy = "Honor", nodeTaintsPolicy = "Ignore" } = constraint;
  const tolerations = pod.pod.spec?.tolerations ?? [];
  const counted = snapshot.nodes.filter(
    (node) =>
      all.every(({ topologyKey }) => node.labels[topologyKey] !== undefined) &&
      (nodeAffinityPolicy === "Ignore" || selectsNode(pod.pod, node)) &&
      (nodeTaintsPolicy === "Ignore" ||
        (node.node.spec?.taints ?? []).every(
          (taint) => taint.effect === "PreferNoSchedule" || isTolerated(taint, tolerations),
        )),
  );
  const { matchExpressions = [], ...rest } = (labelSelector ?? {}) as LabelSelector;
  const own = matchLabelKeys.flatMap((label) =>
    pod.labels[label] === undefined ? [] : [{ key: label, operator: "In" as const, values: [pod.labels[label]] }],
  );
  const selector = { ...rest, matchExpressions: [...matchExpressions, ...own] };
  const matches = (other: PodFacts) =>
    labelSelector !== undefined && other.namespace === pod.namespace && matchesSelector(selector, other.labels);
  return { key, maxSkew, minDomains, counts: count(counted, key, matches), matchesSelf: matches(pod) };
}

function count(nodes: readonly NodeFacts[], key: string, matches: (pod: PodFacts) => boolean): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const place = node.labels[key];
    if (place === undefined) continue;
    let here = counts.get(place) ?? 0;
    for (const other of node.pods) if (!other.isEnding && matches(other)) here++;
    counts.set(place, here);
  }
  return counts;
}
