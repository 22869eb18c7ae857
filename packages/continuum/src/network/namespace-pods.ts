import { Pod, type SharedCache } from "@fjord/kube";
import type { Home } from "../home.ts";

interface Followed {
  readonly shared: SharedCache<Pod>;
  readonly removeHandler: () => void;
  /** Aborts when nobody follows it any more: what has not synced by then never will. */
  readonly end: AbortController;
}

/** The own pods of those namespaces that somebody asks about. */
export class NamespacePods {
  readonly #home: Pick<Home, "caches">;
  readonly #onChange: (namespace: string) => void;
  readonly #followed = new Map<string, Followed>();

  constructor(home: Pick<Home, "caches">, onChange: (namespace: string) => void) {
    this.#home = home;
    this.#onChange = onChange;
  }

  /** All of them: fewer would close what is open. */
  async in(namespace: string, signal: AbortSignal): Promise<readonly Pod[]> {
    const { shared, end } = this.#followed.get(namespace) ?? this.#begin(namespace);
    if (!shared.cache.hasSynced) await shared.cache.waitForSync(AbortSignal.any([signal, end.signal]));
    return shared.cache.list();
  }

  /** Lets go of all namespaces but these. */
  keepOnly(namespaces: ReadonlySet<string>): void {
    for (const [namespace, { shared, removeHandler, end }] of this.#followed) {
      if (namespaces.has(namespace)) continue;
      this.#followed.delete(namespace);
      removeHandler();
      end.abort();
      shared[Symbol.dispose]();
    }
  }

  #begin(namespace: string): Followed {
    const shared = this.#home.caches.open(Pod, { namespace });
    const changed = () => this.#onChange(namespace);
    const removeHandler = shared.cache.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    const followed = { shared, removeHandler, end: new AbortController() };
    this.#followed.set(namespace, followed);
    return followed;
  }
}
