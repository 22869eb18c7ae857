import type { Contract, VirtualNode } from "@fjord/api";
import { CONTRACT_ANNOTATION, isToGo, newestOf } from "@fjord/continuum/drain";
import { getCondition, type Node, type Pod } from "@fjord/kube";
import type { Progress } from "../command-line/wait-for.ts";

/** What is there of a contract that is to be drained. */
export interface DrainFacts {
  /** Its name. */
  readonly contract: string;
  /** All that there are, since one that was renewed or resized goes on under another name. */
  readonly contracts: readonly Contract[];
  /** The consumer's, with their Nodes and the pods on them. */
  readonly nodes: readonly DrainedNode[];
  /** The provider's pods of the consumer, under whichever contract. */
  readonly guests: readonly Pod[];
}

export interface DrainedNode {
  readonly virtual: VirtualNode;
  readonly node?: Node;
  readonly pods: readonly Pod[];
  /** What the API last had against an eviction, while it has. */
  readonly refusal?: string;
}

const MOST_NAMES = 3;

/** Whether nothing of a contract runs any more, and nothing new can come. */
export function drainProgress(facts: DrainFacts): Progress {
  const { contract, contracts, nodes } = facts;
  const agreed = contracts.find(({ metadata }) => metadata.name === contract);
  if (agreed === undefined || agreed.status?.phase === "Ended") return { done: true };
  if (getCondition(agreed.status?.conditions, "Active")?.reason === "InForce")
    return { done: false, progress: `${contract}: waiting for the agent` };
  const open = nodes.find(({ node }) => node !== undefined && node.spec?.unschedulable !== true);
  if (open !== undefined)
    return { done: false, progress: `${contract}: node ${open.virtual.metadata.name} takes pods still` };
  const staying = guestsOf(facts).filter(isToGo);
  const pods = [...nodes.flatMap((each) => each.pods).filter(isToGo), ...staying];
  if (pods.length === 0) return { done: true };
  const waiting = staying.some(({ metadata }) => metadata.deletionTimestamp === undefined);
  const guests = waiting ? [guestTrouble(agreed)] : [];
  return { done: false, progress: [left(contract, pods), ...nodes.flatMap(trouble), ...guests].join("; ") };
}

/** The VirtualNodes of a contract, by whichever of its names. */
export function nodesOf(contract: string, contracts: readonly Contract[], nodes: readonly VirtualNode[]) {
  return nodes.filter(({ spec }) => newest(spec.contract, contracts) === contract);
}

function guestsOf({ contract, contracts, guests }: DrainFacts): Pod[] {
  return guests.filter(({ metadata }) => {
    const under = metadata.annotations?.[CONTRACT_ANNOTATION];
    return under !== undefined && newest(under, contracts) === contract;
  });
}

function newest(name: string, contracts: readonly Contract[]): string {
  const get = (wanted: string) => contracts.find(({ metadata }) => metadata.name === wanted);
  return newestOf(name, get)?.metadata.name ?? name;
}

function left(contract: string, pods: readonly Pod[]): string {
  const named = pods.slice(0, MOST_NAMES).map(({ metadata }) => {
    const ending = metadata.deletionTimestamp === undefined ? "" : " (ending)";
    return `${metadata.namespace}/${metadata.name}${ending}`;
  });
  const more = pods.length > MOST_NAMES ? `, and ${pods.length - MOST_NAMES} more` : "";
  return `${contract}: ${pods.length} ${pods.length === 1 ? "pod" : "pods"} left: ${named.join(", ")}${more}`;
}

/** Why guests of a contract that is drained have not been asked to end. */
function guestTrouble({ spec }: Contract): string {
  const evicted = "the consumer evicts them as its disruption budgets let it";
  return spec?.standing === "Drained" ? `${evicted}, and half a minute later they are ended here` : evicted;
}

/** Why they may stay for long. */
function trouble({ virtual, pods, refusal }: DrainedNode): string[] {
  if (!pods.some(isToGo)) return [];
  const ready = getCondition(virtual.status?.conditions, "Ready");
  // A drained contract is not active: that is no trouble.
  const isAway = ready !== undefined && ready.status !== "True" && ready.reason !== "ContractNotActive";
  return [
    ...(isAway ? [`node ${virtual.metadata.name} is not ready: ${ready.reason}: ${ready.message}`] : []),
    ...(refusal === undefined ? [] : [refusal]),
  ];
}
