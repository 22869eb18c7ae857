import { CONSUMER_LABEL, MANAGED_LABEL, ORIGIN_NAMESPACE_LABEL, ORIGIN_UID_LABEL } from "@fjord/api";
import type { KubeObject, ObjectMeta } from "@fjord/base";
import type { ReflectedKind, TwinContext } from "../reflected-kind.ts";

/** Value of the label that says who keeps a twin. */
export const REFLECT = "reflect";

/**
 * On a twin: the names of the labels and annotations that came with the original, so that they go when they are taken from
 * it, and what others at the provider have added stays.
 */
export const CARRIED_ANNOTATION = "fjord.dev/carried";

type Marks = Readonly<Record<string, string>>;

export interface TwinMetadata {
  readonly labels: Marks;
  readonly annotations: Marks;
}

/** Annotations and labels by which tools and controllers of the own cluster know their objects: nothing of them leaves. */
const ownPrefixes = [
  "fjord.dev/",
  "kubectl.kubernetes.io/",
  "meta.helm.sh/",
  "argocd.argoproj.io/",
  "kustomize.toolkit.fluxcd.io/",
  "helm.toolkit.fluxcd.io/",
  "control-plane.alpha.kubernetes.io/",
  "endpoints.kubernetes.io/",
  "pv.kubernetes.io/",
  "volume.kubernetes.io/",
  "volume.beta.kubernetes.io/",
];

function travels(name: string): boolean {
  return !ownPrefixes.some((prefix) => name.startsWith(prefix));
}

/** Labels and annotations of a twin. */
export function twinMetadata<T extends KubeObject>(
  kind: Pick<ReflectedKind<T>, "marks" | "ownAnnotations" | "lasting">,
  object: T,
  { consumer, namespace }: Pick<TwinContext, "consumer" | "namespace">,
): TwinMetadata {
  const { uid } = object.metadata;
  const own = {
    [CONSUMER_LABEL]: consumer,
    [MANAGED_LABEL]: REFLECT,
    [ORIGIN_NAMESPACE_LABEL]: namespace,
    ...(kind.lasting && uid !== undefined && { [ORIGIN_UID_LABEL]: uid }),
  };
  return carriedMetadata(object, own, kind.marks, kind.ownAnnotations);
}

/** What travels of an object's labels and annotations, and the labels that say whose the twin is. */
export function carriedMetadata(
  { metadata }: KubeObject,
  own: Marks,
  replaced: Marks = {},
  ownAnnotations: readonly string[] = [],
): TwinMetadata {
  const labels = { ...pick(metadata.labels ?? {}, travels), ...replaced };
  const notes = pick(metadata.annotations ?? {}, (name) => travels(name) && !ownAnnotations.includes(name));
  const names = [...new Set([...Object.keys(labels), ...Object.keys(notes)])].sort();
  return {
    labels: { ...labels, ...own },
    annotations: { ...notes, ...(names.length > 0 && { [CARRIED_ANNOTATION]: names.join(",") }) },
  };
}

/** A twin's labels and annotations, as far as they are the original's to say. */
export function seenMetadata(twin: ObjectMeta, wanted: TwinMetadata): TwinMetadata {
  const carried = new Set((twin.annotations?.[CARRIED_ANNOTATION] ?? "").split(","));
  const concerns = (marks: Marks) => (name: string) =>
    Object.hasOwn(marks, name) || carried.has(name) || name === CARRIED_ANNOTATION;
  return {
    labels: pick(twin.labels ?? {}, concerns(wanted.labels)),
    annotations: pick(twin.annotations ?? {}, concerns(wanted.annotations)),
  };
}

/** Whether a twin is that of an earlier object of the name, and holds what is not the later one's. Older twins do not say whose they are. */
export function isOfEarlier({ metadata }: KubeObject, uid: string | undefined): boolean {
  const whose = metadata.labels?.[ORIGIN_UID_LABEL];
  return whose !== undefined && uid !== undefined && whose !== uid;
}

/** Whether the object is a twin that this site's reflection keeps. */
export function isOwnTwin({ metadata }: KubeObject, consumer: string, marks: Marks = {}): boolean {
  const { labels = {} } = metadata;
  const needed = { ...marks, [CONSUMER_LABEL]: consumer, [MANAGED_LABEL]: REFLECT };
  return Object.entries(needed).every(([name, value]) => labels[name] === value);
}

/** Selects the twins of a kind, among the objects of this site. */
export function twinSelector(marks: Marks = {}): string {
  return Object.entries({ [MANAGED_LABEL]: REFLECT, ...marks })
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

function pick(marks: Marks, wanted: (name: string) => boolean): Marks {
  return Object.fromEntries(Object.entries(marks).filter(([name]) => wanted(name)));
}
