import { type Clock, describeError, type Logger, onAbort, type Random } from "@fjord/base";
import { Cache, type ListWatcher, Pod, type ReflectorTiming, sameContent, trimManagedFields } from "@fjord/kube";
import type { NodeStore } from "../store/node-store.ts";
import { strangeName } from "./pod-names.ts";
import type { PodSource } from "./pod-source.ts";

export interface ApiPodSourceOptions {
  readonly client: ListWatcher;
  readonly store: NodeStore;
  readonly nodeName: string;
  /** How long the API has to give the pods before the stored ones are taken. @default 5000 */
  readonly storeAfterMs?: number;
  readonly timing?: Partial<ReflectorTiming>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * The pods that the API binds to this node. Each change is on disk before anyone hears of it, so that whatever was begun
 * can be gone on with after a restart without the API.
 */
export class ApiPodSource implements PodSource {
  readonly #options: ApiPodSourceOptions;
  readonly #cache: Cache<Pod>;
  readonly #listeners = new Set<(podUid: string) => void>();
  readonly #pods = new Map<string, Pod>();
  /** What the API has said and nobody has heard yet; undefined: the pod is gone. */
  readonly #waiting = new Map<string, Pod | undefined>();
  readonly #started = Promise.withResolvers<void>();
  #isStarted = false;
  #isCurrent = false;
  #flushing = false;

  constructor(options: ApiPodSourceOptions) {
    this.#options = options;
    this.#cache = new Cache({
      ...options,
      kind: Pod,
      scope: { fieldSelector: `spec.nodeName=${options.nodeName}` },
      transform: trimManagedFields,
      // A node that is cut off wants back sooner than most.
      timing: { backoffMaxMs: 10_000, ...options.timing },
    });
    this.#cache.addHandler({
      onAdd: (pod) => this.#take(pod.metadata.uid, pod),
      onUpdate: (_, pod) => this.#take(pod.metadata.uid, pod),
      onDelete: (pod) => this.#take(pod.metadata.uid, undefined),
    });
  }

  /** Once the API has given its list in this run. It stays true when the API goes away: no pod leaves without its word. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** Whether the API answers now, as far as is known. */
  get isConnected(): boolean {
    return this.#isCurrent && this.#cache.health.failures === 0;
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  list(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  onChange(listener: (podUid: string) => void): () => void {
    // Wrapped, so that the same function may listen twice.
    const own = (uid: string) => listener(uid);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async started(signal?: AbortSignal): Promise<void> {
    if (this.#isStarted) return;
    const gaveUp = Promise.withResolvers<never>();
    const release = signal === undefined ? () => {} : onAbort(signal, () => gaveUp.reject(signal.reason));
    await Promise.race([this.#started.promise, gaveUp.promise]).finally(release);
  }

  /** Follows the API until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, storeAfterMs = 5_000 } = this.#options;
    const cancel = clock.after(storeAfterMs, () => this.#startFromStore());
    const synced = this.#cache.waitForSync(signal).then(
      () => this.#becomeCurrent(),
      () => {
        // Only the signal ends the wait, and then run ends too.
      },
    );
    await this.#cache.run(signal);
    cancel();
    await synced;
    if (this.#isCurrent) this.#flush();
  }

  #startFromStore(): void {
    if (this.#isStarted) return;
    const pods = this.#options.store.pods();
    for (const pod of pods) if (pod.metadata.uid !== undefined) this.#pods.set(pod.metadata.uid, pod);
    const { lastError } = this.#cache.health;
    this.#options.logger.warn("the API does not answer: going on with the pods of the local store", {
      pods: pods.length,
      ...(lastError !== undefined && { error: describeError(lastError.error) }),
    });
    this.#begin(this.#pods.keys());
    if (this.#waiting.size > 0) this.#flushSoon();
  }

  /** The list is whole: whatever was known from before and is not in it has been deleted meanwhile. */
  #becomeCurrent(): void {
    const { store, logger } = this.#options;
    const listed = new Set(this.#cache.list().map((pod) => pod.metadata.uid));
    const known = new Set([...store.pods().map((pod) => pod.metadata.uid ?? ""), ...this.#pods.keys()]);
    const gone = [...known].filter((uid) => !listed.has(uid));
    // What only the store knows is nobody's news, but has to leave it.
    store.transaction(() => {
      for (const uid of gone) store.removePod(uid);
    });
    for (const uid of gone) this.#waiting.set(uid, undefined);
    this.#isCurrent = true;
    this.#flush();
    logger.info("the pods of this node are known from the API", { pods: listed.size });
    this.#begin([]);
  }

  #begin(uids: Iterable<string>): void {
    this.#isStarted = true;
    this.#started.resolve();
    for (const uid of uids) this.#tell(uid);
  }

  #take(uid: string | undefined, pod: Pod | undefined): void {
    if (uid === undefined) return;
    const strange = pod && strangeName(pod);
    if (strange !== undefined) {
      this.#options.logger.error("a pod is not taken: one of its names cannot be a file's", { uid, name: strange });
      return;
    }
    this.#waiting.set(uid, pod);
    // A first list that is still arriving is taken over as a whole, unless the node works already.
    if (this.#isStarted) this.#flushSoon();
  }

  /** What comes in one go is one write to the disk. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    // Those that the store gave and the API confirms are no news.
    const changes = [...this.#waiting].filter(([uid, pod]) => !sameContent(this.#pods.get(uid), pod));
    this.#waiting.clear();
    if (changes.length === 0) return;
    const { store } = this.#options;
    const durable = changes.some(([uid, pod]) => mattersAfterPowerCut(this.#pods.get(uid), pod));
    store.transaction(
      () => {
        for (const [uid, pod] of changes) {
          if (pod === undefined) store.removePod(uid);
          else store.putPod(pod);
        }
      },
      { durable },
    );
    for (const [uid, pod] of changes) {
      if (pod === undefined) this.#pods.delete(uid);
      else this.#pods.set(uid, pod);
    }
    for (const [uid] of changes) this.#tell(uid);
  }

  #tell(uid: string): void {
    for (const listener of this.#listeners) {
      try {
        listener(uid);
      } catch (error) {
        this.#options.logger.error("a listener to pods failed", { pod: uid, error: describeError(error) });
      }
    }
  }
}

/** A status is written often, mostly by this node itself, and can be found out again. */
function mattersAfterPowerCut(old: Pod | undefined, pod: Pod | undefined): boolean {
  if (old === undefined || pod === undefined) return old !== pod;
  return !sameContent(withoutStatus(old), withoutStatus(pod));
}

function withoutStatus(pod: Pod): Pod {
  return { ...pod, status: undefined, metadata: { ...pod.metadata, resourceVersion: undefined } };
}
