import { AddressPlan } from "@fjord/api";
import type { Clock } from "@fjord/base";
import type { Cache } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { Card, NetworkFacts } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import { writeCard } from "./card.ts";

export interface OwnCardsOptions {
  readonly home: Pick<Home, "caches" | "identity"> & { readonly clock: Pick<Clock, "now"> };
  readonly told: { toIntroduced(site: SiteId): NetworkFacts | undefined };
}

/** What this site says to those that it was introduced to, signed anew only where it says something else. */
export class OwnCards {
  readonly #options: OwnCardsOptions;
  readonly #plans: Cache<AddressPlan>;
  readonly #written = new Map<SiteId, { readonly said: string; readonly at: number; readonly card: Card }>();

  constructor(options: OwnCardsOptions) {
    this.#options = options;
    this.#plans = options.home.caches.open(AddressPlan).cache;
  }

  /** Only by the hand of somebody who has introduced the two. */
  for(site: SiteId, consumer: SiteId): Card | undefined {
    const { home, told } = this.#options;
    const isIntroduced = this.#plans.get({ name: site })?.spec.introducedBy?.includes(consumer) === true;
    const facts = isIntroduced ? told.toIntroduced(site) : undefined;
    if (facts === undefined) {
      this.#written.delete(site);
      return undefined;
    }
    const said = JSON.stringify(facts);
    const before = this.#written.get(site);
    if (before?.said === said) return before.card;
    const at = Math.max(home.clock.now(), (before?.at ?? 0) + 1);
    const card = writeCard(home.identity, site, { at, facts });
    this.#written.set(site, { said, at, card });
    return card;
  }
}
