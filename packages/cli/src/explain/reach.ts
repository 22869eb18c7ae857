import { nodeObstacles } from "@fjord/agent/move";
import { type Offloading, SITE_LABEL, VIRTUAL_NODE } from "@fjord/api";
import { toleratesVirtualNodes } from "@fjord/continuum/tolerations";
import type { Node } from "@fjord/kube";
import { siteById } from "../place/known-places.ts";
import type { PodFacts } from "./pod-facts.ts";

type PodSpec = Parameters<typeof nodeObstacles>[0];

/** A place where the pod might run, and what its own wishes have against that. */
export interface Way {
  /** The site's name. */
  readonly called: string;
  /** Its virtual node. */
  readonly node?: string;
  /** Each with what it found there, such as `its nodeSelector asks for disk=ssd, and node wave has no label disk`. */
  readonly reasons: readonly string[];
}

/** Which places the pod's own wishes leave: its selector, its affinity to nodes, and the taints that it does not tolerate. */
export interface Reach {
  /** Open where one of the own nodes will do. */
  readonly here: Way;
  /** One for each virtual node. */
  readonly away: readonly Way[];
}

export const MADE_BEFORE =
  "it does not tolerate virtual nodes, as pods do that are made once the namespace is offloaded";
const MOST_REASONS = 3;

export function reachOf({ pod, nodes, places }: PodFacts): Reach {
  const spec: PodSpec = { ...(pod.spec ?? { containers: [] }) };
  // Where it was put is no wish of its own.
  delete spec.nodeName;
  const own = nodes.filter((node) => !isVirtual(node));
  const reasons = own.map((node) => nodeObstacles(wishesFor(spec, false), node));
  const isHereOpen = own.length === 0 || reasons.some((each) => each.length === 0);
  return {
    here: { called: "here", reasons: isHereOpen ? [] : reasons.flat() },
    away: nodes.filter(isVirtual).map((node) => ({
      called: siteById(places, node.metadata.labels?.[SITE_LABEL])?.metadata.name ?? node.metadata.name ?? "",
      node: node.metadata.name ?? "",
      reasons: [
        ...(toleratesVirtualNodes(spec.tolerations ?? []) ? [] : [MADE_BEFORE]),
        ...nodeObstacles(wishesFor(spec, true), node),
      ],
    })),
  };
}

/** What the offloading, and the pod's own wishes, leave of where it may run. */
export function reachSentence(facts: PodFacts, offloading: Offloading, isMoved: boolean): string {
  const { pod } = facts;
  const { namespace = "" } = pod.metadata;
  const selector = Object.entries(offloading.spec.sites.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const which = selector.length === 0 ? "" : ` whose node carries ${selector.join(", ")}`;
  const base = `Namespace ${namespace} is offloaded`;
  if (offloading.spec.pods === "Local") return `${base} with pods=Local: its pods run here only.`;
  const { here, away } = reachOf(facts);
  const open = away.filter(isOpen).map(({ called }) => called);
  const closed = away.filter((way) => !isOpen(way));
  if (offloading.spec.pods === "Remote") {
    const none = open.length === 0 && closed.length > 0 ? ` This one may run at none of them: ${inShort(closed)}.` : "";
    return `${base} with pods=Remote: its pods run at other sites${which} only.${none}`;
  }
  if (away.length === 0)
    return `${base}: its pods may run here or at other sites${which}, but none is a node of this one yet.`;
  const chose = isMoved || !pod.spec?.nodeName ? "" : ", and the scheduler chose";
  if (isOpen(here) && closed.length === 0) return `${base}: its pods may run here or at other sites${which}${chose}.`;
  if (isOpen(here) && open.length === 0) return `${base}, but this pod may run here only: ${inShort(closed)}.`;
  if (isOpen(here))
    return `${base}: this pod may run here or at ${open.join(", ")}${chose}; not at ${names(closed)}: ${inShort(closed)}.`;
  if (open.length === 0) return `${base}, but no node will do for this pod: ${inShort([here, ...closed])}.`;
  const but = closed.length === 0 ? "" : `; not at ${names(closed)}: ${inShort(closed)}`;
  return `${base}, and this pod may run at ${open.join(", ")} only: ${inShort([here])}${but}.`;
}

/** What is against some places, each reason once. What one node has is worth telling, what many have is not. */
export function inShort(ways: readonly Way[]): string {
  const all = [...new Set(ways.flatMap(({ reasons }) => reasons))];
  const wishes = [...new Set(all.map((reason) => reason.replace(/, and (?:the )?node .*$/s, "")))];
  const told = all.length === wishes.length ? all : wishes;
  const more = told.length > MOST_REASONS ? `; and ${told.length - MOST_REASONS} more` : "";
  return told.slice(0, MOST_REASONS).join("; ") + more;
}

function names(ways: readonly Way[]): string {
  return ways.map(({ called }) => called).join(", ");
}

export function isOpen({ reasons }: Way): boolean {
  return reasons.length === 0;
}

export function isVirtual({ metadata }: Node): boolean {
  return metadata.labels?.[VIRTUAL_NODE] === "true";
}

/** An offloading with a selector has each of a pod's terms twice: for own nodes, and for virtual ones. */
function wishesFor(spec: PodSpec, virtual: boolean): PodSpec {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const other = virtual ? "DoesNotExist" : "Exists";
  const terms = required?.nodeSelectorTerms ?? [];
  const meant = terms.filter(
    ({ matchExpressions = [] }) =>
      !matchExpressions.some(({ key, operator }) => key === VIRTUAL_NODE && operator === other),
  );
  if (meant.length === 0 || meant.length === terms.length) return spec;
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: meant } };
  return { ...spec, affinity: { ...spec.affinity, nodeAffinity } };
}
