import type { Site } from "@fjord/api";
import { getCondition, type Node } from "@fjord/kube";
import { isAt } from "./nodes-at.ts";
import type { Place } from "./site-affinity.ts";

/** What is there now. */
export interface Moment {
  /** All nodes, virtual ones too. */
  readonly nodes: readonly Node[];
  readonly sites: readonly Site[];
}

/**
 * Why nothing at a place takes pods for now, in words that go on from "cannot be moved there:"; undefined where something
 * does. What is not known stands in nobody's way.
 */
export function passingObstacle(
  place: Exclude<Place, "anywhere">,
  called: string,
  { nodes, sites }: Moment,
): string | undefined {
  const silence = place === "home" ? undefined : silenceOf(place.site, called, sites);
  if (silence !== undefined) return silence;
  const there = nodes.filter((node) => isAt(place, node));
  const reasons = there.flatMap((node) => idleness(node) ?? []);
  if (there.length === 0 || reasons.length < there.length) return undefined;
  return reasons.join("; ");
}

function silenceOf(id: string, called: string, sites: readonly Site[]): string | undefined {
  const site = sites.find(({ spec, status }) => (status?.id ?? spec.id) === id);
  const reachable = getCondition(site?.status?.conditions, "Reachable");
  if (reachable?.status !== "False") return undefined;
  return `${called} does not answer (${[reachable.reason, reachable.message].filter((text) => text).join(": ")})`;
}

/** Why a node takes no new pods. */
function idleness({ metadata, spec, status }: Node): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready !== undefined && ready.status !== "True")
    return `node ${metadata.name} is not ready (${[ready.reason, ready.message].filter((text) => text).join(": ")})`;
  return spec?.unschedulable === true ? `node ${metadata.name} is cordoned, and takes no new pods` : undefined;
}
