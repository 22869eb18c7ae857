import type { NodeFacts } from "../node-facts.ts";
import { type FilterPlugin, refused, type ScorePlugin } from "../plugin.ts";
import type { AffinityTerm, PodFacts } from "../pod-facts.ts";
import type { Snapshot } from "../snapshot.ts";
import { termMatch } from "./affinity-terms.ts";

const existing = refused("node(s) didn't satisfy existing pods anti-affinity rules", false);
const anti = refused("node(s) didn't match pod anti-affinity rules", false);
const missing = refused("node(s) didn't match pod affinity rules", true);

export const interPodAffinity: FilterPlugin = {
  name: "InterPodAffinity",
  prepare(pod, snapshot) {
    const forbidden = forbiddenByOthers(pod, snapshot);
    const against = pod.requiredAntiAffinity.map((term) => placesOf(term, pod, snapshot));
    const towards = pod.requiredAffinity.map((term) => placesOf(term, pod, snapshot));
    if (forbidden.size === 0 && against.length === 0 && towards.length === 0) return undefined;
    // The first of a group that wants to be together has nobody to be with.
    const isFirst = towards.every(({ places }) => places.size === 0) && towards.every(({ matchesSelf }) => matchesSelf);
    return ({ labels }) => {
      const near = towards.every(
        ({ key, places }) => labels[key] !== undefined && (isFirst || places.has(labels[key])),
      );
      if (!near) return missing;
      if (against.some(({ key, places }) => labels[key] !== undefined && places.has(labels[key]))) return anti;
      const clashes = forbidden.entries().some(([key, places]) => labels[key] !== undefined && places.has(labels[key]));
      return clashes ? existing : undefined;
    };
  },
};

/** Where, by topology key, pods are that do not want this one beside them. */
function forbiddenByOthers(pod: PodFacts, snapshot: Snapshot): Map<string, Set<string>> {
  const forbidden = new Map<string, Set<string>>();
  for (const node of snapshot.nodes) {
    for (const other of node.podsWithAffinity) {
      for (const term of other.requiredAntiAffinity) {
        const place = node.labels[term.topologyKey];
        if (place === undefined || !termMatch(term, other, snapshot)(pod)) continue;
        const places = forbidden.get(term.topologyKey) ?? new Set();
        forbidden.set(term.topologyKey, places.add(place));
      }
    }
  }
  return forbidden;
}

function placesOf(term: AffinityTerm, pod: PodFacts, snapshot: Snapshot) {
  const matches = termMatch(term, pod, snapshot);
  const places = new Set<string>();
  for (const node of snapshot.nodes) {
    const place = node.labels[term.topologyKey];
    if (place === undefined || places.has(place)) continue;
    for (const other of node.pods) {
      if (matches(other)) {
        places.add(place);
        break;
      }
    }
  }
  return { key: term.topologyKey, places, matchesSelf: matches(pod) };
}

/** A required affinity of another pod towards this one counts like a weak preference, as in Kubernetes. */
const REQUIRED_WEIGHT = 1;

export const interPodAffinityScore: ScorePlugin = {
  name: "InterPodAffinity",
  weight: 2,
  scale: "range",
  prepare(pod, snapshot) {
    const weights = new Map<string, Map<string, number>>();
    const add = (node: NodeFacts, key: string, weight: number) => {
      const place = node.labels[key];
      if (place === undefined) return;
      const places = weights.get(key) ?? new Map<string, number>();
      weights.set(key, places.set(place, (places.get(place) ?? 0) + weight));
    };
    const own = [
      ...pod.preferredAffinity.map((one) => ({ ...one, sign: 1 })),
      ...pod.preferredAntiAffinity.map((one) => ({ ...one, sign: -1 })),
    ].map(({ weight, sign, podAffinityTerm }) => ({
      key: podAffinityTerm.topologyKey,
      weight: weight * sign,
      matches: termMatch(podAffinityTerm, pod, snapshot),
    }));
    for (const node of snapshot.nodes) {
      if (own.length > 0) {
        for (const other of node.pods) {
          for (const { key, weight, matches } of own) if (matches(other)) add(node, key, weight);
        }
      }
      for (const other of node.podsWithAffinity) {
        for (const { term, weight } of wishesOf(other)) {
          if (termMatch(term, other, snapshot)(pod)) add(node, term.topologyKey, weight);
        }
      }
    }
    if (weights.size === 0) return undefined;
    return ({ labels }) =>
      weights
        .entries()
        .reduce((sum, [key, places]) => sum + (labels[key] === undefined ? 0 : (places.get(labels[key]) ?? 0)), 0);
  },
};

function wishesOf(pod: PodFacts): { term: AffinityTerm; weight: number }[] {
  const { requiredAffinity, preferredAffinity, preferredAntiAffinity } = pod;
  if (requiredAffinity.length + preferredAffinity.length + preferredAntiAffinity.length === 0) return [];
  return [
    ...requiredAffinity.map((term) => ({ term, weight: REQUIRED_WEIGHT })),
    ...preferredAffinity.map(({ weight, podAffinityTerm }) => ({ term: podAffinityTerm, weight })),
    ...preferredAntiAffinity.map(({ weight, podAffinityTerm }) => ({ term: podAffinityTerm, weight: -weight })),
  ];
}
