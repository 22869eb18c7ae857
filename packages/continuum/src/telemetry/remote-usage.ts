import type { Summary } from "@fjord/node/kubelet-api";
import type { Home } from "../home.ts";
import type { OffloadedPods } from "../offloaded-pods.ts";
import type { RemoteSite, RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import type { KnownVirtualNode, VirtualNodes } from "../virtual-nodes.ts";
import { UsageMalformed, UsageUnknown } from "./errors.ts";
import { NodeCounter } from "./node-counter.ts";
import { Recent } from "./recent.ts";
import { type SiteUsage, summaryOf } from "./summary-of.ts";
import { checkUsagePage, type PodUsage } from "./usage.ts";

export interface RemoteUsageOptions {
  readonly home: Pick<Home, "clock">;
  readonly remotes: RemoteSites;
  readonly pods: OffloadedPods;
  readonly nodes: VirtualNodes;
  /** How old an answer may be. @default 5000 */
  readonly freshMs?: number;
}

/** So many pods fit into a page at least; a provider that sends more pages than pods need is not listened to. */
const PODS_A_PAGE = 50;
/** Clocks that are further apart than this are put right. */
const SKEW_MS = 2_000;

/** At the consumer: what the pods behind its virtual nodes use, as their providers say. */
export class RemoteUsage {
  readonly #options: RemoteUsageOptions;
  readonly #sites: Recent<SiteUsage>;
  readonly #counters = new Map<string, NodeCounter>();

  constructor(options: RemoteUsageOptions) {
    this.#options = options;
    const { home, freshMs = 5_000 } = options;
    this.#sites = new Recent(home.clock, freshMs, (site) => this.#ask(site));
  }

  /** What `/stats/summary` of the virtual node answers. */
  async summary({ name, site }: KnownVirtualNode): Promise<Summary> {
    const usage = await this.#sites.get(site);
    for (const node of this.#counters.keys())
      if (this.#options.nodes.get(node) === undefined) this.#counters.delete(node);
    const counter = this.#counters.get(name) ?? new NodeCounter(this.#options.home.clock.now());
    this.#counters.set(name, counter);
    return summaryOf(name, this.#options.pods.onNode(name), usage, counter);
  }

  async #ask(id: SiteId): Promise<SiteUsage> {
    const { remotes, home } = this.#options;
    const remote = remotes.get(id);
    if (remote === undefined) throw new UsageUnknown({ site: id });
    const usage = new Map<string, PodUsage>();
    let skew = 0;
    for (let page = 0, more = true; more && page < this.#mostPages(id); page++) {
      const said = await this.#page(remote, page);
      const apart = home.clock.now() - said.now;
      if (page === 0) skew = Math.abs(apart) > SKEW_MS ? Math.round(apart / 1_000) * 1_000 : 0;
      for (const pod of said.pods) usage.set(`${pod.namespace}/${pod.name}`, pod);
      more = said.more;
    }
    return { at: home.clock.now(), skew, pods: usage };
  }

  async #page(remote: RemoteSite, page: number) {
    const said = checkUsagePage(await remote.call("GET", `/stats/${page}`));
    if (said === undefined) throw new UsageMalformed({ site: remote.id });
    return said;
  }

  #mostPages(site: SiteId): number {
    const { nodes, pods } = this.#options;
    const expected = nodes.at(site).reduce((total, { name }) => total + pods.onNode(name).length, 0);
    return 2 + Math.ceil(expected / PODS_A_PAGE);
  }
}
