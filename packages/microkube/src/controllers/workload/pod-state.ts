import type { Pod } from "@fjord/kube";

export type PodSpec = NonNullable<Pod["spec"]>;
export type PodStatus = NonNullable<Pod["status"]>;
export type PodCondition = NonNullable<PodStatus["conditions"]>[number];
export type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];
export type PodTemplate = {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string>; finalizers?: string[] };
  spec?: PodSpec;
};

/** Milliseconds since the epoch; undefined for what is absent. */
export function timeOf(text: string | undefined | null): number | undefined {
  if (text === undefined || text === null) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** As the API writes times: whole seconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

export function podCondition({ status }: Pod, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function isPodReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/** Since when it has been ready. */
export function readySince(pod: Pod): number | undefined {
  const ready = podCondition(pod, "Ready");
  return ready?.status === "True" ? timeOf(ready.lastTransitionTime) : undefined;
}

/** Ready for long enough. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  if (!isPodReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= now;
}

/** Milliseconds until the next of the ready pods becomes available. */
export function untilAvailable(pods: Iterable<Pod>, minReadySeconds: number, now: number): number | undefined {
  if (minReadySeconds === 0) return undefined;
  let soonest: number | undefined;
  for (const pod of pods) {
    const since = readySince(pod);
    if (since === undefined || isPodAvailable(pod, minReadySeconds, now)) continue;
    const left = since + minReadySeconds * 1000 - now;
    if (soonest === undefined || left < soonest) soonest = left;
  }
  return soonest;
}

export function isPodFinished({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

export function isPodTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Neither ended nor ending: one that counts as a replica. */
export function isPodActive(pod: Pod): boolean {
  return !isPodFinished(pod) && !isPodTerminating(pod);
}
