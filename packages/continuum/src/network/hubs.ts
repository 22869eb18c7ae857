import type { Link, Peering, Site } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import type { OwnObjects } from "./own-objects.ts";
import type { PeerWord } from "./peer-word.ts";

export interface HubsOptions {
  readonly links: Pick<OwnObjects<Link>, "get" | "names">;
  readonly peerings: Pick<Cache<Peering>, "list">;
  readonly sites: Pick<Cache<Site>, "get">;
  wordOf(site: SiteId): PeerWord;
}

/** Sites through which others can be met. What a hub has said holds while it is silent. */
export class Hubs {
  readonly #options: HubsOptions;

  constructor(options: HubsOptions) {
    this.#options = options;
  }

  /** Through which site the owner wants to reach another one, if through any. */
  wanted(site: SiteId): SiteId | undefined {
    const { peerings, sites } = this.#options;
    const peering = peerings.list().find(({ spec, status }) => spec.link && status?.siteId === site);
    const hub = peering?.spec.via === undefined ? undefined : sites.get({ name: peering.spec.via });
    return hub?.status?.id ?? hub?.spec.id;
  }

  /** Sites with links here that say that they lead to another one, in the order in which both ends see them. */
  leadingTo(site: SiteId): SiteId[] {
    const { links, wordOf } = this.#options;
    const before = links.get(site)?.spec.fallback?.site;
    return links
      .names()
      .filter((hub) => {
        if (hub === site || links.get(hub)?.spec.via !== undefined) return false;
        const word = wordOf(hub);
        return word === "unknown" ? hub === before : word.facts?.leadsTo?.includes(site) === true;
      })
      .sort();
  }

  /** Where a hub hears of a site. */
  sight(hub: SiteId, site: SiteId): string | undefined {
    const { links, wordOf } = this.#options;
    const word = wordOf(hub);
    const before = links.get(site)?.spec.fallback;
    if (word === "unknown") return before?.site === hub ? before.seenAt : undefined;
    return word.facts?.sights?.find((each) => each.site === site)?.endpoint;
  }

  /** Sites that a hub leads to, or has led to. */
  behind(hub: SiteId): SiteId[] {
    const { links, wordOf } = this.#options;
    const word = wordOf(hub);
    const said = (word !== "unknown" && word.facts?.leadsTo) || [];
    return [...said, ...links.names().filter((site) => links.get(site)?.spec.fallback?.site === hub)];
  }
}
