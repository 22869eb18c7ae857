import type { PodStanding } from "./pod-standing.ts";
import { TEST_NAMESPACES } from "./trial-objects.ts";
import type { TestPlace } from "./trial-places.ts";

/** By namespace and name. */
export type Standings = ReadonlyMap<string, PodStanding>;

/** For people: how many are ready, and what those that are not wait for. */
export function progressOf(places: readonly Pick<TestPlace, "name" | "site">[], standings: Standings): string {
  const all = [...standings.values()];
  const why = places.flatMap((place) => whyMissing(place, standings) ?? []);
  return `${all.filter(({ isReady }) => isReady).length} of ${all.length} pods are ready: ${why.join("; ")}`;
}

/** Why a place has not the pods that could ask: all of them are needed. */
export function whyMissing({ name, site }: Pick<TestPlace, "name" | "site">, standings: Standings): string | undefined {
  const there = TEST_NAMESPACES.flatMap((namespace) => standings.get(`${namespace}/${name}`) ?? []);
  const whys = there.flatMap((standing) => (standing.isReady ? [] : [standing.why]));
  if (whys.length === 0) return undefined;
  const ready = there.length - whys.length;
  const count =
    ready === 0 ? "no pod is ready" : `${ready} of ${there.length} pods ${ready === 1 ? "is" : "are"} ready`;
  return `${count} at ${site}: ${[...new Set(whys)].join("; ")}`;
}
