import type { Deployment, ReplicaSet } from "@fjord/kube";
import { sameValue } from "../same-value.ts";
import type { PodTemplate } from "../workload/pod-state.ts";
import { surgeOf, wantedReplicas } from "./fence.ts";

export const REVISION = "deployment.kubernetes.io/revision";
export const REVISION_HISTORY = "deployment.kubernetes.io/revision-history";
export const DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas";
export const MAX_REPLICAS = "deployment.kubernetes.io/max-replicas";
export const TEMPLATE_HASH = "pod-template-hash";

/** What belongs to the Deployment, or to one ReplicaSet alone, and is not handed down. */
const OWN = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  "deprecated.deployment.rollback.to",
]);
const LONGEST_HISTORY = 2000;

/** Revisions are written by anybody, and may be larger than numbers can tell apart. */
export function revisionOf({ metadata }: ReplicaSet): bigint {
  return revisionNumber(metadata.annotations?.[REVISION]) ?? 0n;
}

/** Undefined for what is no number. */
function revisionNumber(text = "0"): bigint | undefined {
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}

/** The oldest of those whose template is the Deployment's; there may be several after an upgrade. */
export function findNew({ spec }: Deployment, replicaSets: readonly ReplicaSet[]): ReplicaSet | undefined {
  return byAge(replicaSets).find((replicaSet) => sameTemplate(replicaSet.spec?.template, spec?.template));
}

/** But for the hash that a Deployment gives its ReplicaSets. */
export function sameTemplate(a: PodTemplate = {}, b: PodTemplate = {}): boolean {
  return sameValue(a.spec, b.spec) && sameValue(metadataOf(a), metadataOf(b));
}

function metadataOf({ metadata }: PodTemplate): unknown {
  const labels = { ...metadata?.labels, [TEMPLATE_HASH]: undefined };
  return { ...metadata, labels, creationTimestamp: undefined };
}

/** Oldest first. */
export function byAge(replicaSets: readonly ReplicaSet[]): ReplicaSet[] {
  return replicaSets.toSorted(
    ({ metadata: a }, { metadata: b }) => compare(a.creationTimestamp, b.creationTimestamp) || compare(a.name, b.name),
  );
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The annotations that the new ReplicaSet should have: the Deployment's, and which revision it is. */
export function newAnnotations(
  deployment: Deployment,
  old: Readonly<Record<string, string>> | undefined,
  revision: bigint,
): Record<string, string> {
  const annotations: Record<string, string> = { ...old };
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!OWN.has(name)) annotations[name] = value;
  }
  const before = old?.[REVISION];
  const beforeNumber = revisionNumber(before);
  if (beforeNumber === undefined || beforeNumber >= revision) return annotations;
  annotations[REVISION] = String(revision);
  // It had a revision and gets a later one: this is a way back to it, and what it was before is kept.
  if (before !== undefined) annotations[REVISION_HISTORY] = history(old?.[REVISION_HISTORY], before);
  return annotations;
}

function history(old: string | undefined, revision: string): string {
  const revisions = [...(old ? old.split(",") : []), revision];
  while (revisions.length > 1 && revisions.join(",").length > LONGEST_HISTORY) revisions.shift();
  return revisions.join(",");
}

/** By these a ReplicaSet knows the size of its Deployment, which tells scaling from a rollout. */
export function sizeAnnotations(deployment: Deployment): Record<string, string> {
  const replicas = wantedReplicas(deployment);
  return { [DESIRED_REPLICAS]: String(replicas), [MAX_REPLICAS]: String(replicas + surgeOf(deployment)) };
}

/** Undefined for what is absent or no number. */
export function countAnnotation({ metadata }: ReplicaSet, name: string): number | undefined {
  const text = metadata.annotations?.[name];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Old ReplicaSets beyond the limit, oldest revision first; those that still have pods stay. */
export function expired({ spec }: Deployment, old: readonly ReplicaSet[]): ReplicaSet[] {
  const limit = spec?.revisionHistoryLimit ?? 10;
  const alive = byAge(old.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
  const beyond = alive
    .toSorted((a, b) => Number(revisionOf(a) - revisionOf(b)))
    .slice(0, Math.max(0, alive.length - limit));
  return beyond.filter(
    ({ metadata, spec, status }) =>
      !status?.replicas && !spec?.replicas && (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0),
  );
}
