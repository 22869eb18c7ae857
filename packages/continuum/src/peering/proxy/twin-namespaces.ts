import { CONSUMER_LABEL } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { type Cache, isNotFound, type KubeClient, Namespace, type SharedCache, type SharedCaches } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";

export interface TwinNamespacesOptions {
  readonly caches: SharedCaches;
  readonly client: KubeClient;
  readonly clock: Clock;
}

/** For so long a namespace that was found to be another's is not looked up again. */
const REMEMBERED_MS = 1_000;
const MOST_REMEMBERED = 4096;

/**
 * Whose twin a namespace is, by its label. What the cache does not know yet is looked up: a consumer may hear of its
 * namespace before the cache does.
 */
export class TwinNamespaces implements Disposable {
  readonly #options: TwinNamespacesOptions;
  readonly #held: SharedCache<Namespace>;
  readonly #cache: Cache<Namespace>;
  readonly #others = new Map<string, number>();

  constructor(options: TwinNamespacesOptions) {
    this.#options = options;
    this.#held = options.caches.open(Namespace, { labelSelector: CONSUMER_LABEL });
    this.#cache = this.#held.cache;
  }

  isTwinOf(consumer: SiteId, namespace: string): boolean | Promise<boolean> {
    const known = this.#cache.get({ name: namespace });
    if (known !== undefined) return known.metadata.labels?.[CONSUMER_LABEL] === consumer;
    const now = this.#options.clock.now();
    const key = `${consumer}/${namespace}`;
    if ((this.#others.get(key) ?? 0) > now) return false;
    return this.#lookUp(consumer, namespace, key);
  }

  /** The consumer's twins that are known. */
  of(consumer: SiteId): string[] {
    const own = this.#cache.list().filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === consumer);
    return own.map(({ metadata }) => metadata.name ?? "");
  }

  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]();
  }

  async #lookUp(consumer: SiteId, namespace: string, key: string): Promise<boolean> {
    try {
      const { metadata } = await this.#options.client.get(Namespace, { name: namespace });
      if (metadata.labels?.[CONSUMER_LABEL] === consumer) return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    if (this.#others.size >= MOST_REMEMBERED) this.#others.clear();
    this.#others.set(key, this.#options.clock.now() + REMEMBERED_MS);
    return false;
  }
}
