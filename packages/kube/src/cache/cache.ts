import {
  type Clock,
  describeError,
  type FjordError,
  type Kind,
  type KubeObject,
  type Logger,
  onAbort,
  type Random,
} from "@fjord/base";
import type { ObjectKey } from "../client/interfaces.ts";
import { CacheNotSynced, CacheRunning } from "./errors.ts";
import { type CacheHandler, HandlerSet } from "./handlers.ts";
import type { Indexer } from "./indexers.ts";
import { Mirror } from "./mirror.ts";
import { Reflector } from "./reflector.ts";
import type { ReflectorHealth, ReflectorOptions } from "./reflector-options.ts";
import { Store, type StoreReader } from "./store.ts";
import { type Transform, trimManagedFields } from "./trim.ts";

export interface CacheOptions<T extends KubeObject> extends ReflectorOptions<T> {
  /** Indexes by name, for `byIndex`. */
  indexers?: Readonly<Record<string, Indexer<T>>>;
  /** Applied to each object before it is kept. */
  transform?: Transform<T>;
}

export interface HandlerOptions {
  /** Delivers every object again about this often, as an update to itself. @default never */
  resyncMs?: number;
}

/**
 * A local copy of all objects of a kind, kept current while `run` runs. Reading is free; objects are shared and
 * read-only. Failures of the server leave the content as it was, and show in `health`.
 */
export class Cache<T extends KubeObject> implements StoreReader<T> {
  readonly kind: Kind<T>;
  readonly #store: Store<T>;
  readonly #handlers: HandlerSet<T>;
  readonly #mirror: Mirror<T>;
  readonly #reflector: Reflector<T>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #synced = Promise.withResolvers<void>();
  readonly #resyncs = new Set<Resync<T>>();
  #running = false;

  constructor(options: CacheOptions<T>) {
    this.kind = options.kind;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#logger = options.logger;
    this.#store = new Store(options.indexers, options.logger);
    this.#handlers = new HandlerSet(options.logger);
    this.#mirror = new Mirror(
      options.kind,
      this.#store,
      this.#handlers,
      options.logger,
      options.transform,
      options.client.room,
    );
    const omitManagedFields = (options.transform as unknown) === trimManagedFields;
    this.#reflector = new Reflector({ omitManagedFields, ...options }, this.#mirror);
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#store.get(key);
  }

  list(namespace?: string): T[] {
    return this.#store.list(namespace);
  }

  byIndex(index: string, value: string): T[] {
    return this.#store.byIndex(index, value);
  }

  /** Adds an index to a cache that may be full already; the same name with the same function again is no change. */
  addIndex(name: string, indexer: Indexer<T>): void {
    this.#store.addIndex(name, indexer);
  }

  /** Whether the first list is complete and has been delivered. */
  get hasSynced(): boolean {
    return this.#mirror.complete;
  }

  get health(): ReflectorHealth {
    return this.#reflector.health;
  }

  /** Resolves when the first list is complete and has been delivered; rejects if `signal` aborts before. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    if (this.hasSynced) return;
    const gaveUp = Promise.withResolvers<never>();
    const release = signal === undefined ? () => {} : onAbort(signal, () => gaveUp.reject(this.#notSynced()));
    try {
      await Promise.race([this.#synced.promise, gaveUp.promise]);
    } finally {
      release();
    }
  }

  /**
   * Adds a handler; what the cache holds by now is delivered to it before this returns. The function returned takes it
   * away again: nothing is delivered to it from then on.
   */
  addHandler(handler: CacheHandler<T>, options: HandlerOptions = {}): () => void {
    const { registered, remove } = this.#handlers.add(handler);
    for (const object of this.#store.list())
      this.#handlers.call(registered, "onAdd", () => registered.onAdd?.(object, { initial: true }));
    if (options.resyncMs === undefined) return remove;
    const resync: Resync<T> = { registered, ms: options.resyncMs, cancel: () => {} };
    this.#resyncs.add(resync);
    if (this.#running) this.#scheduleResync(resync);
    return () => {
      resync.cancel();
      this.#resyncs.delete(resync);
      remove();
    };
  }

  /**
   * Keeps the content current until `signal` aborts, whatever the server does. The content stays; running again goes on
   * from there. It runs once at a time. `onList` is called when a list has been delivered and before it is watched on: who aborts
   * then has no watch begun.
   */
  async run(signal: AbortSignal, onList: () => void = () => {}): Promise<void> {
    if (this.#running) throw new CacheRunning({ cache: `the cache of ${this.kind.kind}` });
    this.#running = true;
    for (const resync of this.#resyncs) this.#scheduleResync(resync);
    try {
      await this.#reflector.run(signal, () => {
        this.#logger.debug("cache listed", { kind: this.kind.kind, objects: this.#store.size });
        this.#synced.resolve();
        onList();
      });
    } finally {
      this.#running = false;
      for (const resync of this.#resyncs) resync.cancel();
    }
  }

  #scheduleResync(resync: Resync<T>): void {
    const ms = resync.ms * (0.9 + 0.2 * this.#random());
    resync.cancel = this.#clock.after(ms, () => {
      for (const object of this.#store.list())
        this.#handlers.call(resync.registered, "onUpdate", () => resync.registered.onUpdate?.(object, object));
      if (this.#resyncs.has(resync) && this.#running) this.#scheduleResync(resync);
    });
  }

  #notSynced(): FjordError {
    const { lastError } = this.health;
    const reason = lastError === undefined ? "no list has been completed yet" : describeError(lastError.error);
    return new CacheNotSynced({ kind: this.kind.kind, reason }, { cause: lastError?.error });
  }
}

interface Resync<T extends KubeObject> {
  readonly registered: CacheHandler<T>;
  readonly ms: number;
  cancel: () => void;
}
