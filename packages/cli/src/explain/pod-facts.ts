import { OFFLOADING_NAME, Offloading } from "@fjord/api";
import { CoreEvent, isNotFound, type KubeClient, Node, type Pod } from "@fjord/kube";
import { type KnownPlaces, knownPlaces } from "../place/known-places.ts";

/** All that is known here of one pod. */
export interface PodFacts {
  readonly pod: Pod;
  readonly places: KnownPlaces;
  /** The node that was chosen, where it still exists. */
  readonly node?: Node;
  readonly offloading?: Offloading;
  /** Of the pod, the newest first. */
  readonly events: readonly CoreEvent[];
  readonly now: number;
}

export async function podFacts(client: KubeClient, pod: Pod, now: number, signal: AbortSignal): Promise<PodFacts> {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const [places, node, offloading, events] = await Promise.all([
    knownPlaces(client, signal),
    pod.spec?.nodeName ? optional(client.get(Node, { name: pod.spec.nodeName }, { signal })) : undefined,
    optional(client.get(Offloading, { name: OFFLOADING_NAME, namespace }, { signal })),
    client.list(CoreEvent, {
      namespace,
      fieldSelector: `involvedObject.name=${name},involvedObject.uid=${uid}`,
      signal,
    }),
  ]);
  return {
    pod,
    places,
    ...(node && { node }),
    ...(offloading && { offloading }),
    events: events.items.toSorted((a, b) => timeOf(b) - timeOf(a)),
    now,
  };
}

export function timeOf({ metadata, lastTimestamp, eventTime }: CoreEvent): number {
  return Date.parse(String(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "")) || 0;
}

async function optional<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
