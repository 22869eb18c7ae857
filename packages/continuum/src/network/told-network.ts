import { AddressPlan, Export, Link, Site } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import type { Home } from "../home.ts";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { siteNames } from "../site-names.ts";
import { factsOf } from "./address-plan.ts";
import { entriesFor, exportFacts } from "./export-entries.ts";
import type { LinkKey } from "./link-key.ts";
import { leadsTo, sightsOf } from "./network-state-of.ts";
import { ownNetwork, takesPart } from "./own-network.ts";

export interface ToldNetworkOptions {
  readonly home: Pick<Home, "caches" | "identity">;
  readonly own: { object(): Site | undefined };
  readonly key: Pick<LinkKey, "publicKey" | "proven">;
}

/** What peers are told of the own network: by the objects alone, so that all agents of a site tell the same. */
export class ToldNetwork {
  readonly #options: ToldNetworkOptions;
  readonly #plans: Cache<AddressPlan>;
  readonly #links: Cache<Link>;
  readonly #exports: Cache<Export>;
  readonly #sites: Cache<Site>;

  constructor(options: ToldNetworkOptions) {
    this.#options = options;
    this.#plans = options.home.caches.open(AddressPlan).cache;
    this.#links = options.home.caches.open(Link).cache;
    this.#exports = options.home.caches.open(Export).cache;
    this.#sites = options.home.caches.open(Site).cache;
  }

  /** Undefined where there is to be no link with the site, or none but for guests of others. */
  to(site: SiteId): NetworkFacts | undefined {
    const { home, own, key } = this.#options;
    const plan = this.#plans.get({ name: site })?.spec;
    if (plan === undefined || plan.scope === "Guests") return undefined;
    const facts = this.#ofLink(site, plan);
    if (facts === undefined) return undefined;
    const introduces = (plan.others ?? []).map((other) => other.site);
    const links = this.#links.list();
    const linked = links.map((link) => link.spec.site);
    const led = leadsTo(own.object(), site, this.#sites.list(), linked, introduces);
    return factsOf(plan, {
      ...facts,
      ...key.proven(facts, this.#links.get({ name: site })?.spec, home.identity.id),
      exports: exportFacts(entriesFor(this.#exports.list(), siteNames(site, this.#sites.list()))),
      leadsTo: led,
      sights: sightsOf(led, links),
      tcp: true,
      introduces,
      ...(takesPart(own.object()) && { meets: true }),
    });
  }

  /** What a site is told that a consumer of both has introduced, by that one's hand. */
  toIntroduced(site: SiteId): NetworkFacts | undefined {
    const plan = this.#plans.get({ name: site })?.spec;
    if (plan?.introducedBy === undefined) return undefined;
    const facts = this.#ofLink(site, plan);
    if (facts === undefined) return undefined;
    // Either introducer leads there; both ends name the same one.
    const hub = plan.introducedBy.find((each) => this.#links.get({ name: each })?.spec.via === undefined);
    const { relay: _, ...met } = facts;
    return factsOf(plan, { ...met, ...(hub !== undefined && { fallback: { hub, port: facts.port } }) });
  }

  #ofLink(site: SiteId, plan: AddressPlan["spec"]) {
    const { own, key } = this.#options;
    const network = ownNetwork(own.object(), [], []);
    if (network === undefined || key.publicKey === undefined || plan.own.length === 0) return undefined;
    const { spec, status } = this.#links.get({ name: site }) ?? {};
    const { endpoints, lanes, port } = network;
    return {
      publicKey: status?.ownKey ?? key.publicKey,
      ...(status?.nextKey !== undefined && { nextKey: status.nextKey }),
      endpoints,
      lanes,
      port,
      ...(spec?.via !== undefined && { relay: { hub: spec.via, port } }),
      ...(spec?.fallback && { fallback: { hub: spec.fallback.site, port } }),
    };
  }
}
