import type { Pod } from "@fjord/kube";
import { amountsIn } from "./amounts.ts";
import { type KnownSites, knownSites } from "./known-sites.ts";
import { linkViews } from "./link-views.ts";
import { nodeViews } from "./node-views.ts";
import { type PodFacts, podFacts } from "./pod-facts.ts";
import { siteViews } from "./site-views.ts";
import type { LinkView, NodeView, SiteView, WorkloadView } from "./snapshot.ts";
import { workloadViews } from "./workload-views.ts";
import type { World } from "./world.ts";

/** The world as views, for everyone who looks: made once, however many do. */
export interface Picture {
  readonly world: World;
  readonly known: KnownSites;
  readonly sites: Readonly<Record<string, SiteView>>;
  readonly links: Readonly<Record<string, LinkView>>;
  readonly nodes: Readonly<Record<string, NodeView>>;
  readonly workloads: Readonly<Record<string, WorkloadView>>;
  readonly podsOf: ReadonlyMap<string, readonly Pod[]>;
}

export function pictureOf(world: World): Picture {
  const known = knownSites(world);
  const podsOf = new Map<string, Pod[]>();
  const pods: PodFacts[] = [];
  for (const pod of world.pods) {
    const facts = podFacts(pod);
    pods.push(facts);
    const beside = podsOf.get(facts.workload);
    if (beside === undefined) podsOf.set(facts.workload, [pod]);
    else beside.push(pod);
  }
  const nodes = nodeViews(world.nodes, pods, known);
  const sites = siteViews({ ...world, nodes: withPromised(nodes, world), pods, known });
  const links = linkViews({ ...world, nodes, sites, known });
  const workloads = workloadViews({ ...world, pods, sites, known });
  return { world, known, sites, links, nodes, workloads, podsOf };
}

/** A virtual node that is not ready yet has no amounts; its contract does. */
function withPromised(nodes: Readonly<Record<string, NodeView>>, world: World): NodeView[] {
  const contracts = new Map(world.contracts.map((contract) => [contract.metadata.name, contract]));
  const promised = new Map(
    world.virtualNodes.map(({ metadata, spec }) => [metadata.name, contracts.get(spec.contract)?.spec.terms.resources]),
  );
  return Object.values(nodes).map((node) => {
    const resources = promised.get(node.name);
    return resources === undefined ? node : { ...node, capacity: amountsIn(resources) };
  });
}
