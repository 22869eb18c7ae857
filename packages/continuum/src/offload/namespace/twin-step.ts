import type { TwinNamespace } from "@fjord/api";
import type { SiteId } from "../../site-identity.ts";

/** What is known of a namespace at one site. */
export interface TwinFacts {
  readonly site: SiteId;
  /** Whether a virtual node of the site is selected, and the Offloading is to stay. */
  readonly wanted: boolean;
  /** Whether there is a contract in force with the site. */
  readonly inForce: boolean;
  readonly reachable: boolean;
  /** Whether what the site has is known; before that nothing can be said of its absence. */
  readonly known: boolean;
  readonly request: TwinNamespace | undefined;
  /** Why the site took no request when it was last asked. */
  readonly refusal?: string | undefined;
  /** Whether pods of the namespace are on the site's virtual nodes. */
  readonly hasPods: boolean;
  /** What the twin is to be called. */
  readonly name: string;
}

/**
 * What to do next about a namespace's twin at one site: `wait` for something to change there, or `forget` a site that
 * has nothing of the namespace.
 */
export type TwinStep = "create" | "delete" | "wait" | "forget";

export function twinStep(facts: TwinFacts): TwinStep {
  const { wanted, inForce, reachable, known, request, hasPods } = facts;
  // Without a contract the provider removes everything by itself, and lets nobody ask for it.
  if (!inForce) return wanted ? "wait" : "forget";
  if (wanted && request === undefined) return reachable && known ? "create" : "wait";
  if (!wanted && known && request === undefined && !hasPods) return "forget";
  const isEnding = request?.metadata.deletionTimestamp !== undefined;
  const isToGo = request !== undefined && !hasPods && (!wanted || request.spec.wantedName !== facts.name);
  return isToGo && !isEnding && reachable ? "delete" : "wait";
}

/** Whether the provider says that the twin can be used, under the name that was asked for and no other. */
export function isUsable({ request, name }: Pick<TwinFacts, "request" | "name">): boolean {
  if (request === undefined || request.metadata.deletionTimestamp !== undefined) return false;
  const ready = request.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && request.status?.namespace === name && request.spec.wantedName === name;
}
