import { placeIn } from "@fjord/agent/move";
import type { Kind } from "@fjord/base";
import { Deployment, isForbidden, type KubeClient, StatefulSet } from "@fjord/kube";
import type { CommandContext } from "../command-line/command-context.ts";
import { type KnownPlaces, siteById } from "./known-places.ts";

type Workload = Deployment | StatefulSet;

export interface MovedWorkload {
  /** As commands take it: `deployment/web`. */
  readonly what: string;
  readonly namespace: string;
  /** Name of the site that it asks for. */
  readonly site: string;
}

/** Tells of workloads, of one namespace or of all, that ask for another site by name: what `fjord move` was told stands in them, which are their owner's, and their new pods wait for the site. */
export async function warnOfMoved(
  client: KubeClient,
  places: Pick<KnownPlaces, "sites">,
  { signal, warn }: Pick<CommandContext, "signal" | "warn">,
  wanted: { readonly namespace?: string; readonly site?: string },
): Promise<void> {
  for (const { what, namespace, site } of await workloadsMoved(client, wanted.namespace, places, signal)) {
    if (wanted.site !== undefined && wanted.site !== site) continue;
    warn(
      `${what} still asks for ${site} only, and its pods wait for it: \`fjord move ${what} anywhere -n ${namespace}\` lets them run here\n`,
    );
  }
}

/** Workloads that ask for another site by name, as after `fjord move`, as far as they may be seen. */
async function workloadsMoved(
  client: KubeClient,
  namespace: string | undefined,
  places: Pick<KnownPlaces, "sites">,
  signal: AbortSignal,
): Promise<MovedWorkload[]> {
  const kinds = [Deployment, StatefulSet] as unknown as readonly Kind<Workload>[];
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      try {
        const { items } = await client.list(kind, { ...(namespace && { namespace }), signal, omitManagedFields: true });
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
    return [{ what: `${kind.toLowerCase()}/${metadata.name}`, namespace: metadata.namespace ?? "", site }];
  });
}
