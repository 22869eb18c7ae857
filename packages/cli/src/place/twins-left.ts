import type { Offloading } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { type KnownPlaces, siteById } from "./known-places.ts";

/** Where an Offloading that is being deleted still has twins, by the sites' names: all twins may have the same one. */
export function twinsLeft({ status }: Offloading, places: Pick<KnownPlaces, "sites">): string {
  const left = (status?.sites ?? []).map(({ site, conditions }) => ({
    name: siteById(places, site)?.metadata.name ?? site,
    isSilent: isSilent(siteById(places, site)) || getCondition(conditions, "Ready")?.reason === "SiteUnreachable",
  }));
  const named = left.map(({ name, isSilent: is }) => (is ? `${name} (does not answer)` : name)).toSorted();
  return named.length === 0 ? "waiting for its pods to end" : `waiting for what is left at ${named.join(", ")}`;
}

/** Whether a site is known not to answer. */
export function isSilent(site: KnownPlaces["sites"][number] | undefined): boolean {
  return getCondition(site?.status?.conditions, "Reachable")?.status === "False";
}
