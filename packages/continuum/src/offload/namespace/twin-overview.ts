import type { Offloading } from "@fjord/api";
import { type Cache, isBeingDeleted, type Node } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { VirtualNodes } from "../../virtual-nodes.ts";
import { eligibleSites } from "./eligible-sites.ts";
import type { ProvidersInForce } from "./providers-in-force.ts";
import type { RemoteTwinRequests } from "./remote-twin-requests.ts";
import { twinName } from "./twin-name.ts";
import type { TwinFacts } from "./twin-step.ts";

export interface TwinOverviewOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  readonly pods: OffloadedPods;
  /** Virtual ones. */
  readonly nodes: Cache<Node>;
  /** Those that there are to be. */
  readonly known: VirtualNodes;
  readonly providers: ProvidersInForce;
  readonly requests: RemoteTwinRequests;
}

/** Brings together what is known of a namespace's twins, here and at the sites themselves. */
export class TwinOverview {
  readonly #options: TwinOverviewOptions;

  constructor(options: TwinOverviewOptions) {
    this.#options = options;
  }

  /** One for each site that the namespace extends to, or that its status still tells of. */
  factsOf(offloading: Offloading): TwinFacts[] {
    const { pods, home, providers, requests } = this.#options;
    const { namespace = "" } = offloading.metadata;
    const inForce = providers.list();
    const wanted = isBeingDeleted(offloading) ? new Set<SiteId>() : this.#eligible(offloading);
    const sitesWithPods = new Set(pods.inNamespace(namespace).map(({ node }) => node.site));
    const name = twinName(offloading.spec.naming, namespace, home.identity.id);
    return [...new Set([...wanted, ...sitesOf(offloading)])].sort().map((site) => ({
      site,
      wanted: wanted.has(site),
      inForce: inForce.has(site),
      reachable: this.isReachable(site),
      known: requests.isKnown(site),
      request: requests.get(site, namespace),
      refusal: requests.refusal(site, namespace),
      hasPods: sitesWithPods.has(site),
      name,
    }));
  }

  /** Whether the namespace is to leave a site. */
  isLeaving(offloading: Offloading): boolean {
    if (isBeingDeleted(offloading)) return true;
    const wanted = this.#eligible(offloading);
    return sitesOf(offloading).some((site) => !wanted.has(site));
  }

  isReachable(site: SiteId): boolean {
    return this.#options.remotes.get(site)?.reachability.reachable ?? false;
  }

  #eligible(offloading: Offloading): Set<SiteId> {
    const { nodes, known, providers } = this.#options;
    return eligibleSites(offloading, nodes.list(), known.list(), providers.list());
  }
}

function sitesOf({ status }: Offloading): SiteId[] {
  return (status?.sites ?? []).map(({ site }) => site);
}
