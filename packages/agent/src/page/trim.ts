import type { KubeObject } from "@fjord/base";
import type { Pod } from "@fjord/kube";

/** Keeps of an object what the page shows: thousands of pods are held only as far as they are looked at. */
export function trimForPage(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion, generation, labels, ownerReferences } = metadata;
  const { creationTimestamp, deletionTimestamp } = metadata;
  const kept = {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    labels,
    ownerReferences,
  };
  const trimmed = { ...object, apiVersion, kind, metadata: definedIn(kept) } as KubeObject;
  return kind === "Pod" ? trimPod(trimmed as Pod) : trimmed;
}

function trimPod({ spec, status, ...rest }: Pod): Pod {
  const containers = (spec?.containers ?? []).map(({ name, image, resources }) =>
    definedIn({ name, image, resources }),
  );
  const initContainers = spec?.initContainers?.map(({ name, restartPolicy, resources }) =>
    definedIn({ name, restartPolicy, resources }),
  );
  const { nodeName, overhead, resources } = spec ?? {};
  const { phase, podIP, conditions, containerStatuses, initContainerStatuses, reason, message } = status ?? {};
  return {
    ...rest,
    spec: definedIn({ containers, initContainers, nodeName, overhead, resources }) as NonNullable<Pod["spec"]>,
    status: definedIn({
      phase,
      podIP,
      conditions: conditions?.filter(({ type }) => type === "Ready" || type === "PodScheduled"),
      containerStatuses,
      initContainerStatuses,
      reason,
      message,
    }) as NonNullable<Pod["status"]>,
  };
}

function definedIn<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
