import type { Random } from "@fjord/base";
import type { NodeFacts } from "./node-facts.ts";
import { type NodeFilter, type Refusal, refused, type ScorePlugin } from "./plugin.ts";
import type { Plugins } from "./plugins/index.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { Snapshot } from "./snapshot.ts";

export type Choice = { readonly node: NodeFacts } | { readonly node?: undefined; readonly failure: SchedulingFailure };

export interface SchedulingFailure {
  /** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
  readonly message: string;
  readonly refusals: ReadonlyMap<string, Refusal>;
}

export interface ChooseOptions {
  readonly plugins: Plugins;
  readonly random: Random;
  /** Where among the nodes to begin to look: of many nodes not all are looked at for each pod. @default 0 */
  readonly from?: number;
}

/** The best node for the pod, or why there is none. */
export function chooseNode(pod: PodFacts, snapshot: Snapshot, options: ChooseOptions): Choice {
  const { nodes } = snapshot;
  if (nodes.length === 0) {
    return { failure: { message: "no nodes available to schedule pods", refusals: new Map() } };
  }
  const filter = filterFor(pod, snapshot, options.plugins);
  if (typeof filter !== "function") {
    const refusals = new Map(nodes.map(({ name }) => [name, filter]));
    return { failure: { message: `0/${nodes.length} nodes are available: ${filter.reasons.join(", ")}.`, refusals } };
  }
  const refusals = new Map<string, Refusal>();
  const feasible: NodeFacts[] = [];
  const enough = enoughOf(nodes.length);
  for (let i = 0; i < nodes.length && feasible.length < enough; i++) {
    const node = nodes[((options.from ?? 0) + i) % nodes.length] as NodeFacts;
    const refusal = filter(node);
    if (refusal === undefined) feasible.push(node);
    else refusals.set(node.name, refusal);
  }
  if (feasible.length === 0) return { failure: { message: describe(nodes.length, refusals.values()), refusals } };
  return { node: best(pod, snapshot, feasible, options) };
}

/** All filters in one, or the refusal that holds for every node. */
export function filterFor(pod: PodFacts, snapshot: Snapshot, { filters }: Plugins): NodeFilter | Refusal {
  const prepared: NodeFilter[] = [];
  for (const plugin of filters) {
    const named = plugin.narrow?.(pod);
    if (named === undefined) continue;
    const refusal = refused(`node(s) didn't satisfy plugin(s) [${plugin.name}]`, true);
    prepared.push(({ name }) => (named.has(name) ? undefined : refusal));
  }
  for (const plugin of filters) {
    const filter = plugin.prepare(pod, snapshot);
    if (typeof filter === "function") prepared.push(filter);
    else if (filter !== undefined) return filter;
  }
  return (node) => {
    for (const filter of prepared) {
      const refusal = filter(node);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}

/** Half of a hundred nodes, less of more of them, but never fewer than a hundred. */
function enoughOf(nodes: number): number {
  if (nodes <= 100) return nodes;
  const percent = Math.max(5, 50 - nodes / 125);
  return Math.max(100, Math.floor((nodes * percent) / 100));
}

function best(pod: PodFacts, snapshot: Snapshot, feasible: NodeFacts[], options: ChooseOptions): NodeFacts {
  if (feasible.length === 1) return feasible[0] as NodeFacts;
  const totals = new Float64Array(feasible.length);
  for (const plugin of options.plugins.scores) {
    const score = plugin.prepare(pod, snapshot, feasible);
    if (score === undefined) continue;
    const scores = scaled(feasible.map(score), plugin.scale);
    for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + plugin.weight * Math.floor(scores[i] ?? 0);
  }
  const highest = Math.max(...totals);
  const candidates = feasible.filter((_, index) => totals[index] === highest);
  return candidates[Math.floor(options.random() * candidates.length)] as NodeFacts;
}

function scaled(scores: number[], scale: ScorePlugin["scale"]): number[] {
  if (scale === "as-is") return scores;
  const most = Math.max(...scores);
  if (scale === "highest") return scores.map((score) => (most <= 0 ? 0 : (100 * score) / most));
  if (scale === "lowest") return scores.map((score) => (most <= 0 ? 100 : (100 * (most - score)) / most));
  const least = Math.min(...scores);
  return scores.map((score) => (most === least ? 0 : (100 * (score - least)) / (most - least)));
}

/** How many nodes each reason has ruled out. */
export function describe(nodes: number, refusals: Iterable<Refusal>): string {
  const counts = new Map<string, number>();
  for (const { reasons } of refusals) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const parts = [...counts].map(([reason, times]) => `${times} ${reason}`).sort();
  return `0/${nodes} nodes are available: ${parts.join(", ")}.`;
}
