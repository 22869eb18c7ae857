import type { Card, NetworkFacts } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import { readCard } from "./card.ts";

/** At a consumer: what its providers say to each other by its hand, since the agent started. */
export class CardsBetween {
  readonly #cards = new Map<string, { readonly card: Card; readonly facts: NetworkFacts }>();
  readonly #listeners = new Set<(from: SiteId, to: SiteId) => void>();

  get(from: SiteId, to: SiteId): Card | undefined {
    return this.#cards.get(`${from}/${to}`)?.card;
  }

  /** What one calls the other's ranges; undefined where it has not been heard. */
  names(from: SiteId, to: SiteId): NetworkFacts["names"] | undefined {
    return this.#cards.get(`${from}/${to}`)?.facts.names;
  }

  /** What is no card of the one for the other is not carried. */
  take(from: SiteId, to: SiteId, value: unknown): void {
    const read = readCard(value, from, to);
    const known = this.#cards.get(`${from}/${to}`);
    if (read === undefined || known?.card.signature === read.card.signature) return;
    this.#cards.set(`${from}/${to}`, { card: read.card, facts: read.content.facts });
    for (const listener of this.#listeners) listener(from, to);
  }

  forget(from: SiteId, to: SiteId): void {
    this.#cards.delete(`${from}/${to}`);
  }

  onChange(listener: (from: SiteId, to: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
