import { type Clock, describeError, type Kind, type KubeObject, type Logger, type Random, sleep } from "@fjord/base";
import { Cache, ConnectionError, type ListWatcher, type Transform } from "@fjord/kube";
import type { NodeStore } from "../store/node-store.ts";
import { ListUnknown } from "./errors.ts";
import type { Patience } from "./patience.ts";
import { quietLogger } from "./quiet-logger.ts";
import type { StoreWriter } from "./store-writer.ts";

export interface MirroredListOptions<T extends KubeObject> {
  readonly client: ListWatcher;
  readonly kind: Kind<T>;
  readonly transform: Transform<T>;
  readonly store: NodeStore;
  readonly writer: StoreWriter;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const TOPIC = "mirrored-lists";

/** All objects of a kind, from one watch that is begun with the first question; from the store while that gives nothing. */
export class MirroredList<T extends KubeObject> {
  readonly #options: MirroredListOptions<T>;
  readonly #cache: Cache<T>;
  readonly #stop = new AbortController();
  #run: Promise<void> | undefined;

  constructor(options: MirroredListOptions<T>) {
    this.#options = options;
    this.#cache = new Cache<T>({ ...options, logger: quietLogger(options.logger) });
    const keyOf = ({ metadata }: T) => ({
      kind: options.kind.kind,
      namespace: metadata.namespace ?? "",
      name: metadata.name ?? "",
    });
    this.#cache.addHandler({
      onAdd: (object) => options.writer.put(keyOf(object), object),
      onUpdate: (_, object) => options.writer.put(keyOf(object), object),
      onDelete: (object) => options.writer.remove(keyOf(object)),
    });
  }

  start(): void {
    if (this.#run !== undefined || this.#stop.signal.aborted) return;
    this.#run = this.#cache.run(this.#stop.signal);
    this.#cache.waitForSync(this.#stop.signal).then(
      () => this.#synced(),
      () => {
        // Stopped before it was known.
      },
    );
  }

  /** Those of a namespace, or of the whole cluster. */
  async list(namespace?: string, signal?: AbortSignal): Promise<T[]> {
    if (await this.#known(signal)) return this.#cache.list(namespace);
    return this.#stored().filter((object) => namespace === undefined || object.metadata.namespace === namespace);
  }

  async get(name: string, signal?: AbortSignal): Promise<T | undefined> {
    if (await this.#known(signal)) return this.#cache.get({ name });
    return this.#stored().find((object) => object.metadata.name === name);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#run;
  }

  async #known(signal?: AbortSignal): Promise<boolean> {
    this.start();
    if (this.#cache.hasSynced) return true;
    const { clock, patience } = this.#options;
    const isStored = this.#isStored();
    const waitMs = patience.waitMs(isStored);
    for (const end = clock.now() + waitMs; clock.now() < end; ) {
      if (this.#cache.health.lastError?.error instanceof ConnectionError && isStored) return false;
      signal?.throwIfAborted();
      await sleep(clock, 20, signal);
      if (this.#cache.hasSynced) return true;
    }
    patience.silent(waitMs);
    return false;
  }

  #stored(): T[] {
    const { kind, store } = this.#options;
    if (this.#isStored()) return store.objects<T>(kind.kind);
    const error = this.#cache.health.lastError?.error;
    const reason = error === undefined ? "it has not answered" : describeError(error);
    throw new ListUnknown({ kind: kind.kind, reason }, { cause: error });
  }

  /** A store without any may be one that was never written to. */
  #isStored(): boolean {
    return this.#options.store.entry(TOPIC, this.#options.kind.kind) !== undefined;
  }

  #synced(): void {
    const { kind, store, writer, patience } = this.#options;
    patience.heard();
    const listed = new Set(this.#cache.list().map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`));
    for (const { metadata } of store.objects(kind.kind)) {
      const { namespace = "", name = "" } = metadata;
      if (!listed.has(`${namespace}/${name}`)) writer.remove({ kind: kind.kind, namespace, name });
    }
    writer.flush();
    if (!this.#isStored()) store.putEntry(TOPIC, kind.kind, true);
  }
}
