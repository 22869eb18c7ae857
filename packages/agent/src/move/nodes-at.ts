import { SITE_LABEL } from "@fjord/api";
import type { Node } from "@fjord/kube";
import type { Place } from "./site-affinity.ts";

/** Whether a node stands for a place: those of other sites have their id as a label. */
export function isAt(place: Exclude<Place, "anywhere">, { metadata }: Node): boolean {
  const site = metadata.labels?.[SITE_LABEL];
  return place === "home" ? site === undefined : site === place.site;
}
