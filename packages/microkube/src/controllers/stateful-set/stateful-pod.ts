import type { PersistentVolumeClaim } from "@fjord/kube";
import { type Pod, StatefulSet } from "@fjord/kube";
import { forgePod } from "../workload/pod-forge.ts";
import type { PodTemplate } from "../workload/pod-state.ts";

export const POD_NAME = "statefulset.kubernetes.io/pod-name";
export const POD_INDEX = "apps.kubernetes.io/pod-index";
export const REVISION = "controller-revision-hash";

/** The number at the end of a pod's name; undefined for one that is not a set's. */
export function ordinalOf({ metadata }: Pod, { metadata: set }: StatefulSet): number | undefined {
  const match = /^(.*)-(\d+)$/.exec(metadata.name ?? "");
  return match?.[1] === set.name ? Number(match?.[2]) : undefined;
}

export function firstOrdinal({ spec }: StatefulSet): number {
  return spec?.ordinals?.start ?? 0;
}

export function isInRange(ordinal: number, set: StatefulSet): boolean {
  const first = firstOrdinal(set);
  return ordinal >= first && ordinal < first + (set.spec?.replicas ?? 1);
}

export function revisionOf({ metadata }: Pod): string {
  return metadata.labels?.[REVISION] ?? "";
}

/** The pod of one ordinal, with the template of one revision. */
export function forgeStatefulPod(set: StatefulSet, template: PodTemplate, revision: string, ordinal: number): Pod {
  const pod = forgePod(template, StatefulSet, set);
  const name = `${set.metadata.name}-${ordinal}`;
  const { generateName: _, ...metadata } = pod.metadata;
  const claimed = (set.spec?.volumeClaimTemplates ?? []).map(({ metadata: template }) => ({
    name: template?.name ?? "",
    persistentVolumeClaim: { claimName: claimName(set, template?.name, ordinal) },
  }));
  const others = (pod.spec?.volumes ?? []).filter(({ name }) => !claimed.some((volume) => volume.name === name));
  const volumes = [...claimed, ...others];
  return {
    ...pod,
    metadata: {
      ...metadata,
      name,
      labels: { ...metadata.labels, [POD_NAME]: name, [POD_INDEX]: String(ordinal), [REVISION]: revision },
    },
    spec: {
      containers: [],
      ...pod.spec,
      hostname: name,
      subdomain: set.spec?.serviceName,
      ...(volumes.length > 0 && { volumes }),
    },
  };
}

function claimName({ metadata }: StatefulSet, template: string | undefined, ordinal: number): string {
  return `${template}-${metadata.name}-${ordinal}`;
}

/** The claims that the pod of one ordinal needs. */
export function forgeClaims(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  return (set.spec?.volumeClaimTemplates ?? []).map(({ metadata: template, spec }) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(set, template?.name, ordinal),
      namespace: set.metadata.namespace,
      labels: { ...template?.labels, ...set.spec?.selector.matchLabels },
      ...(template?.annotations && { annotations: template.annotations }),
      ...(template?.finalizers && { finalizers: template.finalizers }),
    },
    spec,
  }));
}
