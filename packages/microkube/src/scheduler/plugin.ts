import type { NodeFacts } from "./node-facts.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { Snapshot } from "./snapshot.ts";

/** Why a pod cannot be on a node. */
export interface Refusal {
  /** As Kubernetes says it, several nodes of one reason are counted together: `Insufficient cpu`. */
  readonly reasons: readonly string[];
  /** Removing other pods from the node would not help. */
  readonly isFinal: boolean;
}

export type NodeFilter = (node: NodeFacts) => Refusal | undefined;

/** What a pod can rule nodes out by. Pure: the same pod and snapshot give the same answer. */
export interface FilterPlugin {
  readonly name: string;
  /** The only nodes worth asking, where the pod names them. */
  narrow?(pod: PodFacts): ReadonlySet<string> | undefined;
  /** Prepared once per pod, asked for each node; undefined: nothing to ask; a refusal: no node will do. */
  prepare(pod: PodFacts, snapshot: Snapshot): NodeFilter | Refusal | undefined;
}

/** Higher is better. What `prepare` gives is put on a scale of 0 to 100 by `scale` and then weighted. */
export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /**
   * `as-is`: already 0 to 100. `highest`: relative to the best node. `lowest`: the same, less is better. `range`: from the
   * worst to the best.
   */
  readonly scale: "as-is" | "highest" | "lowest" | "range";
  prepare(pod: PodFacts, snapshot: Snapshot, feasible: readonly NodeFacts[]): ((node: NodeFacts) => number) | undefined;
}

export const refused = (reason: string, isFinal: boolean): Refusal => ({ reasons: [reason], isFinal });
