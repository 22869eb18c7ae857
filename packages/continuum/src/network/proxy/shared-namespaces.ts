import { CONSUMER_LABEL } from "@fjord/api";
import { type Cache, Namespace } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { LiveContracts } from "../../live-contracts.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";

export interface SharedNamespacesOptions {
  readonly home: Pick<Home, "caches">;
  /** As consumer. */
  readonly twins: Twins;
  /** As provider. */
  readonly contracts: LiveContracts;
}

/** Namespaces whose pods may meet those of a peer: own ones that have a twin there, and twins of the peer's while a contract is in force. */
export class SharedNamespaces {
  readonly #options: SharedNamespacesOptions;
  readonly #twinsHere: Cache<Namespace>;

  constructor(options: SharedNamespacesOptions) {
    this.#options = options;
    this.#twinsHere = options.home.caches.open(Namespace, { labelSelector: CONSUMER_LABEL }).cache;
  }

  with(site: SiteId): ReadonlySet<string> {
    const { twins, contracts } = this.#options;
    return new Set([...twins.namespacesAt(site), ...(contracts.of(site).length > 0 ? this.#twinsOf(site) : [])]);
  }

  onChange(listener: () => void): () => void {
    const { twins, contracts } = this.#options;
    const release = [
      twins.onChange(listener),
      contracts.onChange(listener),
      this.#twinsHere.addHandler({ onAdd: listener, onUpdate: listener, onDelete: listener }),
    ];
    return () => {
      for (const each of release) each();
    };
  }

  #twinsOf(site: SiteId): string[] {
    return this.#twinsHere
      .list()
      .filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === site)
      .map(({ metadata }) => metadata.name ?? "");
  }
}
