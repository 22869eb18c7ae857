import { aborted, type Clock, type Kind, type KubeObject, type Logger, type Random } from "@fjord/base";
import type { ListWatcher } from "../client/interfaces.ts";
import { Cache } from "./cache.ts";
import { CacheRunning } from "./errors.ts";
import type { ReflectorTiming, Scope } from "./reflector-options.ts";
import { type Transform, trimManagedFields } from "./trim.ts";

export interface SharedCachesOptions {
  client: ListWatcher;
  timing?: Partial<ReflectorTiming>;
  /** Applied to every object of every cache. @default trimManagedFields */
  transform?: Transform<KubeObject>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** One consumer's hold on a shared cache. The cache stops when the last of them is disposed of. */
export interface SharedCache<T extends KubeObject> extends Disposable {
  readonly cache: Cache<T>;
}

interface Entry {
  cache: Cache<KubeObject>;
  holders: number;
  stop: AbortController;
}

/** One cache for each kind and scope, however many ask for it: one list and one watch on the server. */
export class SharedCaches {
  readonly #options: SharedCachesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #runs = new Set<Promise<void>>();
  #running = false;

  constructor(options: SharedCachesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The cache for this kind and scope, begun now if nobody has it yet (or when `run` is called). */
  open<T extends KubeObject>(kind: Kind<T>, scope: Scope = {}): SharedCache<T> {
    const id = idOf(kind, scope);
    const entry = this.#entries.get(id) ?? this.#begin(id, kind, scope);
    entry.holders++;
    let held = true;
    return {
      cache: entry.cache as unknown as Cache<T>,
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        if (--entry.holders > 0) return;
        this.#entries.delete(id);
        entry.stop.abort();
      },
    };
  }

  /** Resolves when each cache that is open now has synced; rejects if `signal` aborts before. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#entries.values().map(({ cache }) => cache.waitForSync(signal)));
  }

  /** Runs what is open, and what will be, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new CacheRunning({ cache: "the shared caches" });
    this.#running = true;
    for (const entry of this.#entries.values()) this.#start(entry);
    await aborted(signal);
    this.#running = false;
    for (const entry of this.#entries.values()) entry.stop.abort();
    await Promise.all(this.#runs);
  }

  #begin(id: string, kind: Kind, scope: Scope): Entry {
    const { transform = trimManagedFields } = this.#options;
    const cache = new Cache({ ...this.#options, kind, scope, transform });
    const entry: Entry = { cache, holders: 0, stop: new AbortController() };
    this.#entries.set(id, entry);
    if (this.#running) this.#start(entry);
    return entry;
  }

  #start(entry: Entry): void {
    const run = entry.cache.run(entry.stop.signal).finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }
}

function idOf(kind: Kind, scope: Scope): string {
  const { namespace, labelSelector, fieldSelector } = scope;
  return JSON.stringify([kind.group, kind.version, kind.plural, namespace, labelSelector, fieldSelector]);
}
