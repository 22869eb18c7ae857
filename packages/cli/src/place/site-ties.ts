import type { Contract, Peering, Site } from "@fjord/api";
import { isBeingDeleted } from "@fjord/kube";

/** The contracts, not over yet, under which a site uses this one. */
export function usedBy(site: Site | undefined, contracts: readonly Contract[]): string[] {
  const id = site?.status?.id ?? site?.spec.id;
  return contracts
    .filter(({ spec, status }) => id !== undefined && spec.terms.consumer === id && status?.phase !== "Ended")
    .map(({ metadata }) => metadata.name ?? "");
}

/** Whether a site is left without a peering by the end of these. What is ending already is no reason to ask again, nor one not to. */
export function endsTheLast(site: string, ending: readonly Peering[], peerings: readonly Peering[]): boolean {
  const isLeft = (each: Peering) => each.spec.site === site && !isBeingDeleted(each);
  return ending.some(isLeft) && peerings.filter(isLeft).every((each) => ending.includes(each));
}

/**
 * What else would go if a site were forgotten with peerings that end: its other peerings, unless they end too, and what it has here.
 * In words; undefined where there is nothing.
 */
export function otherTies(
  site: Site,
  ending: readonly Peering[],
  peerings: readonly Peering[],
  contracts: readonly Contract[],
): string | undefined {
  const ends = new Set(ending.map(({ metadata }) => metadata.name));
  const others = peerings
    .filter((peering) => peering.spec.site === site.metadata.name && !isBeingDeleted(peering))
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => !ends.has(name));
  const given = usedBy(site, contracts);
  const words = [
    ...(others.length === 0 ? [] : [`${others.length === 1 ? "peering" : "peerings"} ${others.join(", ")}`]),
    ...(given.length === 0 ? [] : [`what it uses here, by ${given.join(", ")}`]),
  ];
  return words.length === 0 ? undefined : words.join(", and ");
}
