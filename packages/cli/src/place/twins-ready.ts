import type { Offloading, Peering } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { type KnownPlaces, siteById } from "./known-places.ts";
import { CLOSED, REFUSALS } from "./peering-message.ts";
import { isSilent } from "./twins-left.ts";

export interface TwinsReady {
  /** Every site that answers has its twin: there is nothing that waiting alone would bring. */
  readonly done: boolean;
  /** What keeps the others from being ready, site by site. */
  readonly progress: string;
  /** Names of sites that do not answer: their twins follow when they do again. */
  readonly silent: readonly string[];
  /** Why the namespace extends to no site at all, where that stays so until somebody changes something. */
  readonly nowhere?: string;
  /** A site does not give the twin its name, and that stays so until somebody changes something. */
  readonly isNameRefused: boolean;
}

const NAME_REFUSALS = ["NameTaken", "NameRefused"];
const SETTLED: readonly string[] = [...REFUSALS, ...CLOSED, "ContractEnded"];

/** How far the twins of an Offloading are, as its agent tells it. */
export function twinsReady(
  { metadata, status }: Offloading,
  places: Pick<KnownPlaces, "sites"> & Partial<Pick<KnownPlaces, "peerings">>,
): TwinsReady {
  const ready = getCondition(status?.conditions, "Ready");
  const none = { done: false, silent: [], isNameRefused: false };
  if (ready === undefined || ready.observedGeneration !== metadata.generation)
    return { ...none, progress: "waiting for the agent" };
  if (ready.status === "True") return { ...none, done: true, progress: ready.message };
  if (ready.reason === "NoSiteEligible" && places.peerings !== undefined && !places.peerings.some(mayBringNode))
    return { ...none, done: true, progress: ready.message, nowhere: ready.message };
  const twins = (status?.sites ?? []).flatMap(({ site: id, conditions }) => {
    const condition = getCondition(conditions, "Ready");
    const site = siteById(places, id);
    return condition === undefined ? [] : [{ ...condition, site, name: site?.metadata.name ?? id }];
  });
  const waiting = twins.filter((twin) => twin.status !== "True");
  // An agent that has only just met a site calls it unreachable for a moment: the Site itself knows better.
  const silent = waiting.filter(({ site }) => isSilent(site));
  const reasons = waiting.map(({ name, reason, message }) => `${name}: ${reason}: ${message}`);
  return {
    done: twins.length > 0 && silent.length === waiting.length,
    progress: reasons.join("; ") || `${ready.reason}: ${ready.message}`,
    silent: silent.map(({ name }) => name).toSorted(),
    isNameRefused: waiting.some(({ reason }) => NAME_REFUSALS.includes(reason)),
  };
}

/** Whether a node may come of a peering by waiting alone: what has its node was looked at, and what was refused or is over takes its owner's word. */
function mayBringNode({ metadata, status }: Peering): boolean {
  const [realised, agreed] = (["Realised", "Agreed"] as const).map((type) => getCondition(status?.conditions, type));
  const isCurrent = agreed?.observedGeneration === metadata.generation;
  return realised?.status !== "True" && !(isCurrent && SETTLED.includes(agreed?.reason ?? ""));
}

/** How the twins are, site by site where one is not ready. */
export function twinsMessage(offloading: Offloading, places: Pick<KnownPlaces, "sites">): string {
  const ready = getCondition(offloading.status?.conditions, "Ready");
  if (ready === undefined || ready.status === "True" || ready.reason === "NoSiteEligible") return ready?.message ?? "";
  return offloading.metadata.deletionTimestamp === undefined ? twinsReady(offloading, places).progress : ready.message;
}
