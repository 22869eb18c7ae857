import type { Kind, KubeObject } from "@fjord/base";
import {
  ApiError,
  type Cache,
  type CacheHandler,
  Controller,
  type EventNote,
  EventRecorder,
  formatRequest,
  type Indexer,
  ifNotFound,
  isConflict,
  isNotFound,
  type Reconcile,
  type Request,
  type Result,
  type Runnable,
  type Scope,
  type SharedCache,
  type Watch,
} from "@fjord/kube";
import type { ControlMeans } from "./control-loop.ts";

/** So often in a row a look that came too early is taken again without a word. */
const MOST_STALE = 6;

export interface ReconcileOptions {
  readonly sources: Watch[];
  readonly reconcile: Reconcile;
  /** @default 5 */
  readonly concurrency?: number;
  readonly backoff?: { initial?: number; max?: number };
}

/** Something that goes on beside the reconciling, from the moment the caches are in sync until the stop. */
export type Background = (stop: AbortSignal) => Promise<void>;

/**
 * One controller with all it holds: caches, which it lets go of at its end, and a recorder of its own, because events
 * say which controller they are from.
 */
export class Loop implements Runnable {
  readonly name: string;
  readonly needsLeaderElection = true;
  readonly #means: ControlMeans;
  readonly #recorder: EventRecorder;
  readonly #caches: SharedCache<KubeObject>[] = [];
  readonly #subscriptions: (() => () => void)[] = [];
  readonly #backgrounds: Background[] = [];
  readonly #controllers: Controller[] = [];

  constructor(means: ControlMeans, name: string, component = name) {
    this.name = name;
    this.#means = means;
    this.#recorder = new EventRecorder({ ...means, component });
  }

  /** The shared cache of a kind, or of a part of its objects, with indexes that it must have. */
  open<T extends KubeObject>(
    kind: Kind<T>,
    indexes: Readonly<Record<string, Indexer<T>>> = {},
    scope: Scope = {},
  ): Cache<T> {
    const held = this.#means.caches.open(kind, scope);
    this.#caches.push(held as unknown as SharedCache<KubeObject>);
    for (const [name, indexer] of Object.entries(indexes)) held.cache.addIndex(name, indexer);
    return held.cache;
  }

  /** Told of every change, and before the reconciler is, however the object came to be reconciled. */
  hears<T extends KubeObject>(cache: Cache<T>, handler: CacheHandler<T>): this {
    this.#subscriptions.push(() => cache.addHandler(handler));
    return this;
  }

  meanwhile(background: Background): this {
    this.#backgrounds.push(background);
    return this;
  }

  /** Adds a queue of its own; a loop may have several. */
  reconciles(options: ReconcileOptions, name = this.name): this {
    const { reconcile, concurrency = 5 } = options;
    /** How often in a row an object was looked at too early. */
    const stale = new Map<string, number>();
    const calm: Reconcile = async (request, context) => {
      try {
        const result = await reconcile(request, context);
        stale.delete(formatRequest(request));
        return result;
      } catch (error) {
        // Somebody was faster, or the cache is behind: nothing to warn of, and the newer object, or its end, is on its way.
        const tries = stale.get(formatRequest(request)) ?? 0;
        if (!(isConflict(error) || isNotFound(error)) || tries >= MOST_STALE) throw error;
        stale.set(formatRequest(request), tries + 1);
        return { type: "again", afterMs: 15 * 2 ** tries };
      }
    };
    this.#controllers.push(new Controller({ ...this.#means, ...options, name, concurrency, reconcile: calm }));
    return this;
  }

  /** Asks for a reconciliation by the first of its queues, or the one of that name. */
  enqueue(request: Request, afterMs?: number, queue = this.name): void {
    this.#controllers.find(({ name }) => name === queue)?.enqueue(request, afterMs);
  }

  event(object: KubeObject, type: EventNote["type"], reason: string, message: string): void {
    this.#recorder.event(object, { type, reason, message });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const failed = new AbortController();
    const recording = new AbortController();
    const recorded = this.#recorder.run(recording.signal, abandon);
    const subscriptions = this.#subscriptions.map((subscribe) => subscribe());
    const ended = AbortSignal.any([stop, failed.signal]);
    const work = [
      ...this.#controllers.map((controller) => controller.run(ended, abandon)),
      ...this.#backgrounds.map((background) => this.#afterSync(background, ended)),
    ].map((task) =>
      task.catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    );
    try {
      await Promise.all(work);
    } finally {
      await Promise.allSettled(work);
      for (const unsubscribe of subscriptions) unsubscribe();
      for (const held of this.#caches) held[Symbol.dispose]();
      recording.abort();
      await recorded;
    }
  }

  async #afterSync(background: Background, stop: AbortSignal): Promise<void> {
    try {
      await Promise.all(this.#caches.map(({ cache }) => cache.waitForSync(stop)));
    } catch (error) {
      if (stop.aborted) return;
      throw error;
    }
    if (!stop.aborted) await background(stop);
  }
}

/** What the server itself said, as Kubernetes' own controllers quote it in events and conditions. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError && error.status?.message) return error.status.message;
  return error instanceof Error ? error.message : String(error);
}

/** Everything in a namespace that is going away is refused: there is nothing to do about it, and nothing to say. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.details.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false;
}

/** Does what may meet an object that is gone by now, which then counts as done. */
export async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  return await work.catch(ifNotFound);
}

export const again = (afterMs: number): Result => ({ type: "again", afterMs });
