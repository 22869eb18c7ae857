import type { Deployment, Pod, ReplicaSet, StatefulSet } from "@fjord/kube";

/** What has replicas and makes new ones of a changed template, one after the other. */
export type Rolling = Deployment | StatefulSet;

const REVISION = "deployment.kubernetes.io/revision";

/** Whether its controller has seen it as it is now. */
export function isObserved({ metadata, status }: Rolling): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/** As `kubectl rollout status` sees it. */
export function isRolledOut({ spec, status }: Rolling): boolean {
  const wanted = spec?.replicas ?? 1;
  const ready = (status as { readyReplicas?: number } | undefined)?.readyReplicas ?? 0;
  return (status?.updatedReplicas ?? 0) >= wanted && ready >= wanted && (status?.replicas ?? 0) <= wanted;
}

/** How far the newest pods are. The workload's status counts those that are ready together with the old ones. */
export function rolloutProgress(workload: Rolling, sets: readonly ReplicaSet[], pods: readonly Pod[]): string {
  const wanted = workload.spec?.replicas ?? 1;
  const newest = newestPods(workload, sets, pods);
  const ready = newest.filter(isReady).length;
  const homeless = newest.filter(({ spec }) => !spec?.nodeName).length;
  const old = pods.filter(isStaying).length - newest.length;
  return [
    `${ready} of ${wanted} new pods are ready`,
    ...(homeless > 0 ? [`waiting for a node: ${homeless}`] : []),
    ...(old > 0 ? [`old ones left: ${old}`] : []),
  ].join(", ");
}

/** Pods of a workload that were made of its template as it is now, as far as its controller has got. */
export function newestPods(workload: Rolling, sets: readonly ReplicaSet[], pods: readonly Pod[]): Pod[] {
  const [key, value] = newestLabel(workload, sets);
  return pods.filter((pod) => value !== undefined && isStaying(pod) && pod.metadata.labels?.[key] === value);
}

function isStaying({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined;
}

function newestLabel(
  { metadata, status }: Rolling,
  sets: readonly ReplicaSet[],
): readonly [key: string, value: string | undefined] {
  const revision = status !== undefined && "updateRevision" in status ? status.updateRevision : undefined;
  if (revision !== undefined) return ["controller-revision-hash", revision];
  const newest = sets.find(
    (set) =>
      set.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) &&
      set.metadata.annotations?.[REVISION] === metadata.annotations?.[REVISION],
  );
  return ["pod-template-hash", newest?.metadata.labels?.["pod-template-hash"]];
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}
