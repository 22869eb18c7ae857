import type { AddressPlan, Peering, Site } from "@fjord/api";
import { type Cache, isBeingDeleted } from "@fjord/kube";
import type { LiveContracts } from "../../live-contracts.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import type { IpRange } from "../ip-range.ts";
import { takesPart } from "../own-network.ts";
import type { OwnObjects } from "../own-objects.ts";
import type { PeerWord } from "../peer-word.ts";
import type { CardsBetween } from "./cards-between.ts";
import type { HeardIntroductions } from "./heard-introductions.ts";
import { type Introducer, introducersOf, leavesNames, newestCard } from "./introducers.ts";
import { introducedSites } from "./introduction.ts";

type PlanSpec = AddressPlan["spec"];

export interface MeetingsOptions {
  readonly own: { object(): Site | undefined };
  readonly plans: Pick<OwnObjects<AddressPlan>, "get" | "names">;
  readonly peerings: Pick<Cache<Peering>, "list">;
  readonly twins: Twins;
  readonly contracts: LiveContracts;
  /** As provider: what consumers have said. */
  readonly heard: Pick<HeardIntroductions, "of">;
  /** As consumer: what providers have said to each other. */
  readonly cards: Pick<CardsBetween, "names">;
  wordOf(site: SiteId): PeerWord;
}

/** Whom this site introduces to each other as consumer, and whom it was introduced to as provider. */
export class Meetings {
  readonly #options: MeetingsOptions;

  constructor(options: MeetingsOptions) {
    this.#options = options;
  }

  /** As consumer: who else a provider is to know, and what it calls them as far as it has said. */
  othersOf(site: SiteId): NonNullable<PlanSpec["others"]> {
    const { own, twins, cards, plans } = this.#options;
    if (!takesPart(own.object())) return [];
    const before = plans.get(site)?.spec.others ?? [];
    return introducedSites(site, twins, (each) => this.#takesPart(each)).map((other) => {
      const names = cards.names(site, other) ?? before.find((each) => each.site === other)?.names ?? [];
      return { site: other, names: names.map(({ range, called = "" }) => ({ range, called })) };
    });
  }

  /** As provider: consumers that introduce a site to this one. */
  introducersOf(site: SiteId, pools: readonly IpRange[]): readonly Introducer[] {
    const { own, plans, contracts, heard, wordOf } = this.#options;
    if (!takesPart(own.object())) return [];
    const before = plans.get(site)?.spec;
    const introducers = introducersOf({
      site,
      heard: heard.of(site),
      ...(before && { before }),
      hasContract: (consumer) => contracts.of(consumer).length > 0,
      wordOf,
    });
    const ranges = newestCard(introducers)?.facts.ranges;
    if (ranges === undefined) return introducers;
    return introducers.some(({ consumer }) => leavesNames(ranges, this.#chargedTo(consumer, site), pools))
      ? introducers
      : [];
  }

  /** Sites that a consumer has introduced to this one. */
  introducedBy(consumer: SiteId): SiteId[] {
    const { plans, wordOf } = this.#options;
    const word = wordOf(consumer);
    const said = word === "unknown" ? [] : (word.facts?.introduces ?? []);
    const planned = plans.names().filter((name) => plans.get(name)?.spec.introducedBy?.includes(consumer));
    return [...new Set([...said, ...planned])];
  }

  /** Sites that share a namespace of this one with a site, or did so. */
  around(site: SiteId): SiteId[] {
    const { twins, plans } = this.#options;
    const sharing = twins.namespacesAt(site).flatMap((namespace) => twins.sitesOf(namespace));
    const planned = plans.names().filter((name) => plans.get(name)?.spec.others?.some((other) => other.site === site));
    return [...new Set([...sharing, ...planned])].filter((each) => each !== site);
  }

  /** Names that sites have which are here by one consumer's word first. */
  #chargedTo(consumer: SiteId, except: SiteId): PlanSpec[] {
    const { plans } = this.#options;
    const specs = plans.names().flatMap((name) => (name === except ? [] : (plans.get(name)?.spec ?? [])));
    return specs.filter(({ scope, introducedBy }) => scope === "Guests" && introducedBy?.[0] === consumer);
  }

  /** A provider whose owner, and this one's, want guests to meet. What it has said holds while it is silent. */
  #takesPart(site: SiteId): boolean {
    const { peerings, plans, wordOf } = this.#options;
    const isLinked = peerings
      .list()
      .some((peering) => peering.spec.link && peering.status?.siteId === site && !isBeingDeleted(peering));
    if (!isLinked) return false;
    const word = wordOf(site);
    return word === "unknown" ? (plans.get(site)?.spec.others ?? []).length > 0 : word.facts?.meets === true;
  }
}
