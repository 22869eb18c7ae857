import { placeIn } from "@fjord/agent/move";
import type { Kind } from "@fjord/base";
import { Deployment, isForbidden, type KubeClient, StatefulSet } from "@fjord/kube";
import { type KnownPlaces, siteById } from "./known-places.ts";

type Workload = Deployment | StatefulSet;

export interface MovedWorkload {
  /** As commands take it: `deployment/web`. */
  readonly what: string;
  /** Name of the site that it asks for. */
  readonly site: string;
}

/** Workloads of a namespace that ask for another site by name, as after `fjord move`, as far as they may be seen. */
export async function workloadsMoved(
  client: KubeClient,
  namespace: string,
  places: Pick<KnownPlaces, "sites">,
  signal: AbortSignal,
): Promise<MovedWorkload[]> {
  const kinds = [Deployment, StatefulSet] as unknown as readonly Kind<Workload>[];
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      try {
        const { items } = await client.list(kind, { namespace, signal, omitManagedFields: true });
        return movedAmong(kind.kind, items, places);
      } catch (error) {
        if (isForbidden(error)) return [];
        throw error;
      }
    }),
  );
  return lists.flat();
}

export function movedAmong(
  kind: string,
  workloads: readonly Workload[],
  places: Pick<KnownPlaces, "sites">,
): MovedWorkload[] {
  return workloads.flatMap(({ metadata, spec }) => {
    const place = placeIn(spec?.template.spec?.affinity);
    if (place === undefined || typeof place === "string") return [];
    const site = siteById(places, place.site)?.metadata.name ?? place.site;
    return [{ what: `${kind.toLowerCase()}/${metadata.name}`, site }];
  });
}
