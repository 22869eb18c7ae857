import { AddressPlan, Export, Link, Site } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import type { Home } from "../home.ts";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { factsOf } from "./address-plan.ts";
import { entriesFor, exportFacts, siteNames } from "./export-entries.ts";
import type { LinkKey } from "./link-key.ts";
import { leadsTo } from "./network-state-of.ts";
import { ownNetwork } from "./own-network.ts";

export interface ToldNetworkOptions {
  readonly home: Pick<Home, "caches">;
  readonly own: { object(): Site | undefined };
  readonly key: Pick<LinkKey, "publicKey">;
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

  /** Undefined where there is to be no link with the site. */
  to(site: SiteId): NetworkFacts | undefined {
    const { own, key } = this.#options;
    const plan = this.#plans.get({ name: site });
    const network = ownNetwork(own.object(), [], []);
    if (plan === undefined || network === undefined || key.publicKey === undefined) return undefined;
    const { spec, status } = this.#links.get({ name: site }) ?? {};
    const { endpoints, port } = network;
    const linked = this.#links.list().map((link) => link.spec.site);
    return factsOf(plan.spec, {
      publicKey: status?.ownKey ?? key.publicKey,
      endpoints,
      exports: exportFacts(entriesFor(this.#exports.list(), siteNames(site, this.#sites.list()))),
      leadsTo: leadsTo(own.object(), site, this.#sites.list(), linked),
      ...(spec?.via !== undefined && { relay: { hub: spec.via, port } }),
      ...(spec?.fallback && { fallback: { hub: spec.fallback.site, port } }),
    });
  }
}
