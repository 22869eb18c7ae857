import type { Site } from "@fjord/api";
import { isForbidden, type KubeClient, PersistentVolumeClaim } from "@fjord/kube";
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
  const claims = await client.list(PersistentVolumeClaim, scope).catch((error: unknown) => {
    if (isForbidden(error)) return { items: [] };
    throw error;
  });
  const bound = claimsBoundAt(claims.items, sites);
  if (bound.length === 0) return;
  const names = sites.filter((site) => claimsBoundAt(claims.items, [site]).length > 0);
  throw new DataElsewhere({
    claims: bound.join(", "),
    sites: names.map(({ metadata }) => metadata.name).join(", "),
  });
}
