import { describeError, type Kind, type KubeObject } from "@fjord/base";
import type { SharedCache } from "@fjord/kube";
import type { Home } from "../../home.ts";

export interface HomeObjectsOptions<T extends KubeObject> {
  readonly home: Pick<Home, "caches" | "logger">;
  readonly kind: Kind<T>;
  readonly onChange: (namespace: string, name: string) => void;
  /** All objects of the namespace are known. */
  readonly onSync: (namespace: string) => void;
}

interface Followed<T extends KubeObject> {
  readonly shared: SharedCache<T>;
  readonly release: () => void;
}

/** The own objects of one kind, in those namespaces that are looked at. */
export class HomeObjects<T extends KubeObject> {
  readonly #options: HomeObjectsOptions<T>;
  readonly #followed = new Map<string, Followed<T>>();

  constructor(options: HomeObjectsOptions<T>) {
    this.#options = options;
  }

  namespaces(): string[] {
    return [...this.#followed.keys()];
  }

  has(namespace: string): boolean {
    return this.#followed.has(namespace);
  }

  /** False while objects of the namespace may be there that are not known yet. */
  isKnown(namespace: string): boolean {
    return this.#followed.get(namespace)?.shared.cache.hasSynced ?? true;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#followed.get(namespace)?.shared.cache.get({ namespace, name });
  }

  list(namespace: string): T[] {
    return this.#followed.get(namespace)?.shared.cache.list(namespace) ?? [];
  }

  follow(namespace: string): void {
    const { home, kind, onChange, onSync } = this.#options;
    const shared = home.caches.open(kind, { namespace });
    const tell = ({ metadata }: T) => onChange(namespace, metadata.name ?? "");
    const gone = new AbortController();
    // Before the handler: what the cache holds already is delivered while it is added.
    this.#followed.set(namespace, { shared, release: () => {} });
    const remove = shared.cache.addHandler({ onAdd: tell, onUpdate: (_, object) => tell(object), onDelete: tell });
    const release = () => {
      gone.abort();
      remove();
      shared[Symbol.dispose]();
    };
    this.#followed.set(namespace, { shared, release });
    shared.cache.waitForSync(gone.signal).then(
      () => onSync(namespace),
      (error) => home.logger.debug("a list to reflect was given up", { kind: kind.kind, error: describeError(error) }),
    );
  }

  leave(namespace: string): void {
    const followed = this.#followed.get(namespace);
    this.#followed.delete(namespace);
    followed?.release();
  }
}
