import type { NodeFacts } from "../node-facts.ts";
import type { FilterPlugin, ScorePlugin } from "../plugin.ts";
import type { PodFacts } from "../pod-facts.ts";

export const nodeResources: FilterPlugin = {
  name: "NodeResourcesFit",
  prepare({ requests }) {
    const wanted = [...requests].filter(([, amount]) => amount > 0);
    return (node) => {
      const reasons: string[] = [];
      if (node.podCount + 1 > (node.allocatable.get("pods") ?? 0)) reasons.push("Too many pods");
      let isFinal = false;
      for (const [name, amount] of wanted) {
        const all = node.allocatable.get(name) ?? 0;
        if (amount > all - node.requested(name)) {
          reasons.push(`Insufficient ${name}`);
          isFinal ||= amount > all;
        }
      }
      return reasons.length === 0 ? undefined : { reasons, isFinal };
    };
  },
};

/** The more is left, the better: spreads load. */
export const leastAllocated: ScorePlugin = {
  name: "NodeResourcesFit",
  weight: 1,
  scale: "as-is",
  prepare: (pod) => (node) => {
    const free = fractions(pod, node).map((used) => (used > 1 ? 0 : 1 - used));
    return (100 * free.reduce((sum, one) => sum + one, 0)) / Math.max(1, free.length);
  },
};

/** Nodes where processors and memory are used alike are better: neither is left over. */
export const balancedAllocation: ScorePlugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,
  scale: "as-is",
  prepare(pod) {
    // One that asks for nothing changes no balance.
    if (!pod.requests.has("cpu") && !pod.requests.has("memory")) return undefined;
    return (node) => {
      const [a = 0, b = a] = fractions(pod, node).map((used) => Math.min(used, 1));
      return 100 * (1 - Math.abs(a - b) / 2);
    };
  },
};

/** How much of processors and memory would be in use. */
function fractions(pod: PodFacts, node: NodeFacts): number[] {
  return (["cpu", "memory"] as const).flatMap((name) => {
    const all = node.allocatable.get(name) ?? 0;
    return all === 0 ? [] : [(node.likely[name] + pod.likely[name]) / all];
  });
}
