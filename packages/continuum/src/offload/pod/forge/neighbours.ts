import type { Pod } from "@fjord/kube";

type PodSpec = NonNullable<Pod["spec"]>;
type Affinity = NonNullable<PodSpec["affinity"]>;
type PodTerms = NonNullable<Affinity["podAntiAffinity"]>;
type PodTerm = NonNullable<PodTerms["requiredDuringSchedulingIgnoredDuringExecution"]>[number];
type Spread = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

/** Labels of nodes that mean the same everywhere. */
const knownEverywhere = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const MOST_WANTED = 100;

/**
 * What a pod asks for of its neighbours, for the provider's scheduler. At home it has been kept, or the pod would have no node; there it is
 * a wish: it can lead to a better node, and never keeps a pod from running. Only what is about the pod's own namespace.
 */
export function neighbourWishes({ affinity, topologySpreadConstraints }: PodSpec): Partial<PodSpec> {
  const podAffinity = wishes(affinity?.podAffinity);
  const podAntiAffinity = wishes(affinity?.podAntiAffinity);
  const spread = spreadWishes(topologySpreadConstraints ?? []);
  return {
    ...((podAffinity || podAntiAffinity) && {
      affinity: { ...(podAffinity && { podAffinity }), ...(podAntiAffinity && { podAntiAffinity }) },
    }),
    ...(spread.length > 0 && { topologySpreadConstraints: spread }),
  };
}

function wishes(terms: PodTerms | undefined): PodTerms | undefined {
  const required = terms?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const preferred = terms?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const all = [...required.map((podAffinityTerm) => ({ weight: MOST_WANTED, podAffinityTerm })), ...preferred]
    .filter(({ podAffinityTerm }) => isAboutOwn(podAffinityTerm))
    .map(({ weight, podAffinityTerm: { labelSelector, topologyKey } }) => ({
      weight,
      podAffinityTerm: { ...(labelSelector && { labelSelector }), topologyKey },
    }));
  return all.length > 0 ? { preferredDuringSchedulingIgnoredDuringExecution: all } : undefined;
}

function isAboutOwn({ namespaces, namespaceSelector, topologyKey, labelSelector }: PodTerm): boolean {
  const isOwn = namespaceSelector == null && (namespaces ?? []).length === 0;
  return isOwn && labelSelector != null && knownEverywhere.includes(topologyKey);
}

/** Without `matchLabelKeys`, which the home API server has made part of the selector; an API server refuses two of one key. */
function spreadWishes(constraints: readonly Spread[]): Spread[] {
  const known = constraints.filter(
    ({ topologyKey, labelSelector }, index) =>
      labelSelector != null &&
      knownEverywhere.includes(topologyKey) &&
      constraints.findIndex((each) => each.topologyKey === topologyKey && each.labelSelector != null) === index,
  );
  return known.map(({ maxSkew, topologyKey, labelSelector }) => ({
    maxSkew,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    ...(labelSelector && { labelSelector }),
  }));
}
