import type { Offloading } from "@fjord/api";
import { offloadingOf } from "@fjord/continuum/offloading-of";
import { CoreEvent, isForbidden, isNotFound, type KubeClient, Node, Pod } from "@fjord/kube";
import { type KnownPlaces, knownPlaces } from "../place/known-places.ts";

/** What is known here of this site and of others. */
export interface SiteFacts {
  readonly places: KnownPlaces;
  /** All of this site, virtual ones too; none where they may not be looked at. */
  readonly nodes: readonly Node[];
  /** All pods of this site, where what is left of nodes matters and they may be looked at. */
  readonly pods?: readonly Pod[];
}

/** All that is known here of one pod. */
export interface PodFacts extends SiteFacts {
  readonly pod: Pod;
  readonly offloading?: Offloading;
  /** Of the pod, the newest first. */
  readonly events: readonly CoreEvent[];
  readonly now: number;
}

/** `asked`: the pods to explain. Who uses what is asked for only where one of them has found no room. */
export async function siteFacts(client: KubeClient, asked: readonly Pod[], signal: AbortSignal): Promise<SiteFacts> {
  const nodes = client.list(Node, { signal, omitManagedFields: true }).catch((error: unknown) => {
    if (isNotFound(error) || isForbidden(error)) return { items: [] };
    throw error;
  });
  const all = asked.some(isWithoutRoom) ? podsOfSite(client, signal) : undefined;
  const [places, { items }, pods] = await Promise.all([knownPlaces(client, signal), nodes, all]);
  return { places, nodes: items, ...(pods && { pods }) };
}

function isWithoutRoom({ spec, status }: Pod): boolean {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return !spec?.nodeName && isNoRoom(scheduled?.message);
}

/** Whether the scheduler says that something is used up. */
export function isNoRoom(said: string | undefined): boolean {
  return /Insufficient|Too many pods/.test(said ?? "");
}

async function podsOfSite(client: KubeClient, signal: AbortSignal): Promise<Pod[] | undefined> {
  try {
    return (await client.list(Pod, { signal, omitManagedFields: true })).items;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

export async function podFacts(
  client: KubeClient,
  pod: Pod,
  site: SiteFacts,
  now: number,
  signal: AbortSignal,
): Promise<PodFacts> {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const [offloading, events] = await Promise.all([
    offloadingOf(client, namespace, signal),
    client.list(CoreEvent, {
      namespace,
      fieldSelector: `involvedObject.name=${name},involvedObject.uid=${uid}`,
      signal,
    }),
  ]);
  return {
    ...site,
    pod,
    ...(offloading && { offloading }),
    events: events.items.toSorted((a, b) => timeOf(b) - timeOf(a)),
    now,
  };
}

export function timeOf({ metadata, lastTimestamp, eventTime }: CoreEvent): number {
  return Date.parse(String(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "")) || 0;
}
