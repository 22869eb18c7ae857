import { Contract } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { isInForce, sideOf } from "../../market/index.ts";
import type { SiteId } from "../../site-identity.ts";

/** The sites that this one has a contract in force with, as consumer. No other lets it do anything. */
export class ProvidersInForce {
  readonly #home: Home;
  readonly #contracts: Cache<Contract>;

  constructor(home: Home) {
    this.#home = home;
    this.#contracts = home.caches.open(Contract).cache;
  }

  list(): Set<SiteId> {
    const { identity, clock } = this.#home;
    const now = clock.now();
    const own = this.#contracts
      .list()
      .filter((contract) => sideOf(contract, identity.id) === "Consumer" && isInForce(contract, "Consumer", now));
    return new Set(own.map(({ spec }) => spec.terms.provider));
  }

  /** Called when there is one more, or one less. */
  onChange(listener: () => void): () => void {
    let before = this.list();
    const look = () => {
      const now = this.list();
      if (now.symmetricDifference(before).size === 0) return;
      before = now;
      listener();
    };
    return this.#contracts.addHandler({ onAdd: look, onUpdate: look, onDelete: look });
  }
}
