import type { Pod, StatefulSet } from "@fjord/kube";
import type { Rolling } from "./rollout.ts";

/**
 * Pods of an older template that wait for a node, and with them the whole rollout: a StatefulSet replaces a pod only once
 * the last one is ready, so one that nothing will ever take is never replaced. Nothing of them runs yet.
 */
export function stuckPods(workload: Rolling, pods: readonly Pod[]): Pod[] {
  const { metadata, spec, status } = workload as StatefulSet;
  const revision = status?.updateRevision;
  if (revision === undefined || (spec?.updateStrategy?.type ?? "RollingUpdate") !== "RollingUpdate") return [];
  const first = spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
  return pods.filter(
    (pod) =>
      pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) &&
      pod.metadata.deletionTimestamp === undefined &&
      !pod.spec?.nodeName &&
      pod.metadata.labels?.["controller-revision-hash"] !== revision &&
      ordinalOf(pod) >= first,
  );
}

function ordinalOf({ metadata }: Pod): number {
  return Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? 0);
}
