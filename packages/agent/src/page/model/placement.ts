import type { Offloading } from "@fjord/api";
import type { KnownSites } from "./known-sites.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { LinkView, SiteView } from "./snapshot.ts";
import { pathOf } from "./workload-views.ts";

export interface PlacementInput {
  readonly offloading: Offloading | undefined;
  readonly link: LinkView | undefined;
  readonly site: SiteView | undefined;
  readonly known: KnownSites;
}

const ALLOWED = {
  Both: "its namespace is offloaded, and lets the scheduler choose among all nodes",
  Remote: "its namespace is offloaded, and keeps pods off this site's own nodes",
  Local: "its namespace is offloaded, and keeps its pods at home",
} as const;

/** Why a pod is where it is, or nowhere, in a sentence for people. */
export function placementOf(pod: PodFacts, { offloading, link, site, known }: PlacementInput): string {
  const allowed =
    offloading === undefined ? "its namespace is not offloaded, so it runs at home" : ALLOWED[offloading.spec.pods];
  switch (pathOf(pod, known)) {
    case "pending":
      return pod.problem === "" ? `Waits for the scheduler; ${allowed}.` : `Waits: ${pod.problem}`;
    case "guest":
      return `Runs here on node ${pod.node} for ${known.nameOf(pod.consumer)}, under a contract with it.`;
    case "native":
      return `The scheduler chose this site's own node ${pod.node}; ${allowed}.`;
    case "shadow": {
      const contract = link?.contract === undefined ? "" : ` under contract ${link.contract}`;
      const runs = `The scheduler chose virtual node ${pod.node}: it runs at ${known.siteOfNode(pod.node)}${contract}; ${allowed}.`;
      return site?.health === "lost" ? `${runs} That site does not answer now${afterwards(offloading)}.` : runs;
    }
  }
}

function afterwards(offloading: Offloading | undefined): string {
  const rule = offloading?.spec.whenUnreachable;
  if (rule?.action === "Keep") return ": the pod is kept until it is back";
  return `: the pod is evicted after ${rule?.after ?? "5m"}`;
}
