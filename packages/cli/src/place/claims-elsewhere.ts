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

/** Throws where what is about to end has the only copy of data. Who may not look at claims is not told of them. */
export async function refuseToLoseData(
  client: KubeClient,
  sites: readonly Site[],
  scope: { readonly namespace?: string; readonly signal: AbortSignal },
): Promise<void> {
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
  const offloaded = new Set(offloadings.map(({ metadata }) => metadata.namespace));
  if (offloaded.size === 0) return;
  // A namespace that came home has no volumes elsewhere any more, whatever its claims still say.
  const claims = (await listed(PersistentVolumeClaim)).filter(({ metadata }) => offloaded.has(metadata.namespace));
  const bound = claimsBoundAt(claims, sites);
  if (bound.length === 0) return;
  const holders = sites.filter((site) => claimsBoundAt(claims, [site]).length > 0);
  const names = holders.map(({ metadata }) => metadata.name);
  throw new DataElsewhere({ claims: bound.join(", "), sites: names.join(", ") });
}
