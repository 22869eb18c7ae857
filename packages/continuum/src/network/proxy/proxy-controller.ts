import { AddressPlan, Link, Peering } from "@fjord/api";
import {
  type Cache,
  type Controller,
  done,
  generationChanged,
  isBeingDeleted,
  type Node,
  type Result,
  type Runnable,
  watches,
} from "@fjord/kube";
import { LOOPBACK_RANGE_ANNOTATION, STAND_IN_RANGE_ANNOTATION } from "@fjord/node/registration";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { LiveContracts } from "../../live-contracts.ts";
import type { LoopbackFacts } from "../../protocol.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { OwnObjects } from "../own-objects.ts";
import { parseCidrs } from "../ranges.ts";
import { type LoopbackNetwork, loopbackFactsOf, proxyPlan } from "./proxy-plan.ts";
import { proxyPlanStatus } from "./proxy-plan-status.ts";

export interface ProxyControllerOptions {
  readonly home: Home;
  readonly own: { nodes(): readonly Node[]; onChange(listener: () => void): () => void };
  readonly sites: RemoteSites;
  /** As provider. */
  readonly contracts: LiveContracts;
  readonly standIns: {
    /** How many of a peer's endpoints have no stand-in. */
    missing(site: SiteId): number;
    onMissing(listener: (site: SiteId) => void): () => void;
  };
}

/** Keeps an AddressPlan for each peer that has its pods on loopback too, and with which there is a Peering or a contract. One at a time, as no two may be given the same names. */
export class ProxyController implements Runnable {
  readonly name = "proxy";
  readonly needsLeaderElection = true;
  readonly #options: ProxyControllerOptions;
  readonly #controller: Controller;
  readonly #plans: OwnObjects<AddressPlan>;
  readonly #links: OwnObjects<Link>;
  readonly #peerings: Cache<Peering>;

  constructor(options: ProxyControllerOptions) {
    this.#options = options;
    const { caches, client } = options.home;
    const plans = caches.open(AddressPlan).cache;
    const links = caches.open(Link).cache;
    this.#plans = new OwnObjects(client, AddressPlan, plans);
    this.#links = new OwnObjects(client, Link, links);
    this.#peerings = caches.open(Peering).cache;
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [
        watches(plans, { when: generationChanged }),
        watches(links, { when: generationChanged }),
        watches(this.#peerings, {
          map: ({ status }) => (status?.siteId === undefined ? [] : [{ name: status.siteId }]),
        }),
      ],
      concurrency: 1,
      backoff: { initial: 100, max: 5_000 },
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const { own, sites, contracts, standIns } = this.#options;
    const release = [
      standIns.onMissing((site) => this.#look(site)),
      own.onChange(() => this.#lookAtAll()),
      sites.onChange((id) => this.#look(id)),
      contracts.onChange((consumer) => this.#look(consumer)),
    ];
    this.#lookAtAll();
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      for (const each of release) each();
    }
  }

  /** What a peer is told; undefined where nothing is carried between the two. */
  toldTo(site: SiteId): LoopbackFacts | undefined {
    const plan = this.#plans.get(site)?.spec;
    return plan?.carrier === "Proxy" ? loopbackFactsOf(plan) : undefined;
  }

  async #reconcile(site: SiteId, signal: AbortSignal): Promise<Result> {
    // No gateway carries packets of pods that are on loopback.
    await this.#links.remove(site, signal);
    const before = this.#plans.get(site)?.spec;
    const facts = this.#factsOf(site);
    if (!this.#isWanted(site) || (facts === undefined && before === undefined)) {
      await this.#plans.remove(site, signal);
      if (before !== undefined) this.#lookAtAll(site);
      return done();
    }
    const own = this.#own();
    // Nodes are known a moment later than the agent starts.
    if (own.pods.length === 0) return done();
    const others = this.#plans
      .names()
      .filter((name) => name !== site)
      .flatMap((name) => this.#plans.get(name)?.spec ?? []);
    const spec = proxyPlan({
      site,
      own,
      others,
      ...(facts && { facts }),
      ...(before?.carrier === "Proxy" && { before }),
    });
    const plan = await this.#plans.keep(site, spec, signal);
    const { home, standIns } = this.#options;
    await this.#plans.say(plan, proxyPlanStatus(plan, standIns.missing(site), home.clock.now()), signal);
    // What others are led to through this site.
    if (JSON.stringify(before?.peer) !== JSON.stringify(spec.peer)) this.#lookAtAll(site);
    if (spec.own.some(({ called }) => called === undefined)) this.#options.sites.get(site)?.refresh();
    return done();
  }

  #isWanted(site: SiteId): boolean {
    const { sites, contracts } = this.#options;
    if (sites.get(site) === undefined) return false;
    const hasPeering = this.#peerings
      .list()
      .some((peering) => peering.status?.siteId === site && !isBeingDeleted(peering));
    return hasPeering || contracts.of(site).length > 0;
  }

  /** Undefined where it has not been heard since the agent started, or its pods are not on loopback. */
  #factsOf(site: SiteId): LoopbackFacts | undefined {
    const report = this.#options.sites.get(site)?.report;
    const { loopbackRanges: ranges = [] } = report?.published ?? {};
    return ranges.length === 0 ? undefined : (report?.loopback ?? { ranges, names: [] });
  }

  #own(): LoopbackNetwork {
    const nodes = this.#options.own.nodes();
    const ranges = (annotation: string) =>
      parseCidrs(nodes.flatMap(({ metadata }) => metadata.annotations?.[annotation] ?? []));
    return { pods: ranges(LOOPBACK_RANGE_ANNOTATION), standIns: ranges(STAND_IN_RANGE_ANNOTATION) };
  }

  #look(site: SiteId): void {
    this.#controller.enqueue({ name: site });
  }

  #lookAtAll(but?: SiteId): void {
    const names = [...this.#plans.names(), ...this.#links.names(), ...this.#options.sites.list().map(({ id }) => id)];
    for (const name of new Set(names)) if (name !== but) this.#look(name);
  }
}
