import type { Contract, VirtualNode } from "@fjord/api";
import { CONTRACT_ANNOTATION, isToGo, lineOf } from "@fjord/continuum/drain";
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
  const agreed = standingOf(contract, contracts);
  if (agreed === undefined) return { done: true };
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

/** The contract that is in force under that name, or under the one that a renewal or a resize has given it since. */
export function standingOf(contract: string, contracts: readonly Contract[]): Contract | undefined {
  const line = contracts.filter(({ metadata }) => isOfLine(metadata.name, contract));
  return line.find(({ status }) => status?.phase !== "Ended" && status?.phase !== "Proposed");
}

/** The VirtualNodes of a contract, by whichever of its names. */
export function nodesOf(contract: string, nodes: readonly VirtualNode[]): VirtualNode[] {
  return nodes.filter(({ spec }) => isOfLine(spec.contract, contract));
}

function guestsOf({ contract, guests }: DrainFacts): Pod[] {
  return guests.filter(({ metadata }) => isOfLine(metadata.annotations?.[CONTRACT_ANNOTATION], contract));
}

/** A guest keeps the name that its contract had when it began, and a provider forgets that one within seconds of a renewal or a resize. */
function isOfLine(name: string | undefined, contract: string): boolean {
  return name !== undefined && lineOf(name) === lineOf(contract);
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
