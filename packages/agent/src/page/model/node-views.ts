import type { Node } from "@fjord/kube";
import { amountsIn, sumOf } from "./amounts.ts";
import type { KnownSites } from "./known-sites.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { Amounts, NodeView } from "./snapshot.ts";

export function nodeViews(
  nodes: readonly Node[],
  pods: readonly PodFacts[],
  known: KnownSites,
): Record<string, NodeView> {
  const requests = new Map<string, Amounts[]>();
  for (const pod of pods) {
    if (pod.node === undefined || pod.ended) continue;
    const there = requests.get(pod.node);
    if (there === undefined) requests.set(pod.node, [pod.requests]);
    else there.push(pod.requests);
  }
  return Object.fromEntries(
    nodes.map(({ metadata, spec, status }) => {
      const name = metadata.name ?? "";
      const there = requests.get(name) ?? [];
      const view: NodeView = {
        name,
        ready: (status?.conditions ?? []).some((each) => each.type === "Ready" && each.status === "True"),
        virtual: known.isVirtual(name),
        cordoned: spec?.unschedulable === true,
        site: known.siteOfNode(name),
        capacity: amountsIn(status?.allocatable),
        used: sumOf(there),
        pods: there.length,
      };
      return [name, view];
    }),
  );
}
