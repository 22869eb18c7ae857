import { type AddressPlan, type Export, type Import, Link, type Peering, type Site } from "@fjord/api";
import { type Cache, getCondition, sameContent } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import type { Hubs } from "./hubs.ts";
import type { Meetings } from "./introductions/meetings.ts";
import type { KeyHolders } from "./key-holders.ts";
import type { NetworkControllerOptions } from "./network-controller.ts";
import { leadsTo } from "./network-state-of.ts";
import type { OwnObjects } from "./own-objects.ts";
import type { PeerWord } from "./peer-word.ts";

export interface NetworkChangesOptions extends NetworkControllerOptions {
  readonly plans: Pick<OwnObjects<AddressPlan>, "get" | "names">;
  readonly links: Pick<OwnObjects<Link>, "names">;
  readonly peerings: Pick<Cache<Peering>, "list">;
  readonly siteObjects: Pick<Cache<Site>, "list">;
  readonly exports: Cache<Export>;
  readonly imports: Cache<Import>;
  readonly hubs: Hubs;
  readonly meetings: Meetings;
  readonly holders: KeyHolders;
  wordOf(site: SiteId): PeerWord;
  /** Has the plan and the link with a site looked at again. */
  look(site: SiteId): void;
}

/** Which sites are to be looked at again when something has changed: what is between two sites depends on a third in places. */
export class NetworkChanges {
  readonly #options: NetworkChangesOptions;
  /** Providers that were last heard to let themselves be introduced. */
  readonly #meeting = new Set<SiteId>();
  /** By site: whom it was last heard to introduce here, in one text. */
  readonly #introduced = new Map<SiteId, string>();

  constructor(options: NetworkChangesOptions) {
    this.#options = options;
  }

  /** Looks at all sites, and at each whenever something of it changes, until what it gives is called. */
  follow(): () => void {
    const release = [...this.#followSites(), ...this.#followObjects()];
    this.#lookAtAll();
    return () => {
      for (const each of release) each();
    };
  }

  #followSites(): (() => void)[] {
    const { own, sites, contracts, twins, nodes, heard, introductions, cards, peerings } = this.#options;
    return [
      own.onChange(() => this.#lookAtAll()),
      sites.onChange((id) => {
        this.#lookAtWord(id);
        for (const { spec, status } of peerings.list()) if (spec.via !== undefined) this.#look(status?.siteId);
      }),
      heard.onChange((id) => {
        introductions.keepOnly(id, heard.get(id)?.facts?.introduces ?? []);
        this.#lookAtWord(id);
      }),
      introductions.onChange((site) => this.#look(site)),
      cards.onChange((from) => this.#look(from)),
      contracts.onChange((consumer) => {
        this.#look(consumer);
        this.#lookIntroduced(consumer);
        this.#lookMeeting(consumer);
      }),
      twins.onChange((site, namespace) => {
        this.#look(site);
        for (const other of twins.sitesOf(namespace)) this.#look(other);
      }),
      nodes.onChange((name) => this.#look(nodes.get(name)?.site)),
    ];
  }

  #followObjects(): (() => void)[] {
    const { home, exports, imports } = this.#options;
    return [
      home.caches.open(Link).cache.addHandler({
        onAdd: (link) => {
          this.#lookLed(link.spec.site);
          this.#lookSharing(link);
        },
        onUpdate: (old, link) => {
          const { spec, status } = link;
          if (old.status?.endpoint !== status?.endpoint || old.status?.way !== status?.way) this.#lookLed(spec.site);
          if (old.spec.publicKey !== spec.publicKey || old.spec.nextKey !== spec.nextKey) {
            this.#lookKeyless();
            this.#lookSharing(link);
          }
        },
        onDelete: ({ spec }) => {
          this.#lookLed(spec.site);
          this.#lookKeyless();
        },
      }),
      followed(exports, () => this.#lookAtAll()),
      followed(imports, () => this.#lookAtAll()),
    ];
  }

  /** A site may have said something else: of itself, of those that it leads to as a hub, and of whom it introduces. */
  #lookAtWord(site: SiteId): void {
    this.#look(site);
    for (const behind of this.#options.hubs.behind(site)) this.#look(behind);
    const word = this.#options.wordOf(site);
    const introduces = word === "unknown" ? word : (word.facts?.introduces ?? []).join();
    // They may be many, and all else that it says is nothing to them.
    if (introduces !== this.#introduced.get(site)) this.#lookIntroduced(site);
    this.#introduced.set(site, introduces);
    this.#lookMeeting(site);
  }

  /** Sites that a consumer has introduced here. */
  #lookIntroduced(consumer: SiteId): void {
    for (const introduced of this.#options.meetings.introducedBy(consumer)) this.#look(introduced);
  }

  /** Sites around a provider that now takes part, or no longer. */
  #lookMeeting(site: SiteId): void {
    const { meetings, wordOf } = this.#options;
    const word = wordOf(site);
    const meets = word !== "unknown" && word.facts?.meets === true;
    if (meets === this.#meeting.has(site)) return;
    if (meets) this.#meeting.add(site);
    else this.#meeting.delete(site);
    for (const other of meetings.around(site)) this.#look(other);
  }

  /** Sites that this one leads to another: they are told. */
  #lookLed(site: SiteId): void {
    const { plans, links, own, siteObjects } = this.#options;
    const introduced = (plans.get(site)?.spec.others ?? []).map((other) => other.site);
    for (const other of leadsTo(own.object(), site, siteObjects.list(), links.names(), introduced)) this.#look(other);
  }

  /** Sites that have a key of a Link too, which whoever proves it has had them lose. */
  #lookSharing(link: Link): void {
    for (const site of this.#options.holders.sharing(link)) this.#look(site);
  }

  /** Sites whose key another one had: it may be theirs now. */
  #lookKeyless(): void {
    const { plans } = this.#options;
    for (const name of plans.names())
      if (getCondition(plans.get(name)?.status?.conditions, "Ready")?.reason === "KeyTaken") this.#look(name);
  }

  #lookAtAll(): void {
    const { plans, links, sites } = this.#options;
    for (const name of new Set([...plans.names(), ...links.names()])) this.#look(name);
    for (const { id } of sites.list()) this.#look(id);
  }

  #look(site: SiteId | undefined): void {
    if (site !== undefined) this.#options.look(site);
  }
}

/** Calls for whatever becomes of an object but its conditions. */
function followed<T extends Export | Import>(cache: Cache<T>, changed: () => void): () => void {
  return cache.addHandler({
    onAdd: changed,
    onUpdate: (before, now) => {
      if (!sameContent(withoutConditions(before), withoutConditions(now))) changed();
    },
    onDelete: changed,
  });
}

function withoutConditions({ metadata, spec, status = {} }: Export | Import): unknown {
  const { conditions: _, ...rest } = status;
  return [spec, rest, metadata.deletionTimestamp];
}
