import { Offloading, type Site } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import { isBeingDeleted, isForbidden, isNotFound, type KubeClient, PersistentVolumeClaim } from "@fjord/kube";
import { DataElsewhere } from "../errors.ts";
import { idOf } from "./known-places.ts";

/** Claims of this site whose twins at some sites are bound: there are volumes of theirs there, with what pods wrote. */
export function claimsBoundAt(claims: readonly PersistentVolumeClaim[], sites: readonly Site[]): string[] {
  const types = new Set(sites.flatMap((site) => idOf(site) ?? []).map((id) => `fjord.dev/${id}`));
  return claims
    .filter(({ status }) => status?.conditions?.some(({ type, status }) => types.has(type) && status === "True"))
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

export interface DataThere {
  /** Claims whose volumes are there, as `shop/data, shop/more`. */
  readonly claims: string;
  /** Where these are. */
  readonly sites: string;
}

interface Scope {
  readonly namespace?: string;
  readonly signal: AbortSignal;
}

/** Throws where what is about to end has the only copy of data. */
export async function refuseToLoseData(client: KubeClient, sites: readonly Site[], scope: Scope): Promise<void> {
  const data = await dataElsewhere(client, sites, scope);
  if (data !== undefined) throw new DataElsewhere({ ...data });
}

/** What would go with the twins at some sites; undefined where that is nothing. Who may not look at claims is not told of them. */
export async function dataElsewhere(
  client: KubeClient,
  sites: readonly Site[],
  scope: Scope,
): Promise<DataThere | undefined> {
  const listed = async <T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]> => {
    try {
      return (await client.list(kind, scope)).items;
    } catch (error) {
      if (isForbidden(error) || isNotFound(error)) return [];
      throw error;
    }
  };
  // What comes home already was granted.
  const offloadings = (await listed(Offloading)).filter((each) => !isBeingDeleted(each));
  if (offloadings.length === 0) return undefined;
  const claims = await listed(PersistentVolumeClaim);
  const holders = sites.flatMap((site) => {
    // A namespace that came home, or has left the site, has no volumes there any more, whatever its claims still say.
    const there = new Set(offloadings.filter((each) => isAt(each, site)).map(({ metadata }) => metadata.namespace));
    const own = claims.filter(({ metadata }) => there.has(metadata.namespace));
    const bound = claimsBoundAt(own, [site]);
    return bound.length === 0 ? [] : [{ name: site.metadata.name, bound }];
  });
  if (holders.length === 0) return undefined;
  const bound = new Set(holders.flatMap((each) => each.bound));
  return { claims: [...bound].join(", "), sites: holders.map(({ name }) => name).join(", ") };
}

/** Whether a namespace has a twin at a site, or may have. */
function isAt({ status }: Offloading, site: Site): boolean {
  return status?.sites?.some((each) => each.site === idOf(site)) ?? true;
}
