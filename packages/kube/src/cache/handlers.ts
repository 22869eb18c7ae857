import { describeError, type KubeObject, type Logger } from "@fjord/base";

/**
 * Told of every change after the cache holds it. Called one at a time and in order; must not block for long and must not
 * change the objects. One that throws is logged; others and the cache go on.
 */
export interface CacheHandler<T extends KubeObject> {
  /** `initial` for what was there when the handler, or the cache, began. */
  onAdd?(object: T, context: { initial: boolean }): void | Promise<void>;
  /** The same object twice where a resync delivers it again. */
  onUpdate?(old: T, object: T): void | Promise<void>;
  /**
   * `last` is the final state; with `unknownFinalState` the deletion itself was not seen, and `last` is what the cache
   * knew last.
   */
  onDelete?(last: T, context: { unknownFinalState: boolean }): void | Promise<void>;
}

/** Those who listen to one cache. */
export class HandlerSet<T extends KubeObject> {
  readonly #handlers = new Set<CacheHandler<T>>();
  readonly #logger: Logger;
  /** Replaced on change, so that who is added while an event is delivered does not get it twice. */
  #current: readonly CacheHandler<T>[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The same handler object may be added more than once: each is a registration of its own. */
  add(handler: CacheHandler<T>): { registered: CacheHandler<T>; remove: () => void } {
    const registered: CacheHandler<T> = {
      onAdd: (object, context) => handler.onAdd?.(object, context),
      onUpdate: (old, object) => handler.onUpdate?.(old, object),
      onDelete: (last, context) => handler.onDelete?.(last, context),
    };
    this.#handlers.add(registered);
    this.#current = [...this.#handlers];
    const remove = () => {
      this.#handlers.delete(registered);
      this.#current = [...this.#handlers];
    };
    return { registered, remove };
  }

  added(object: T, initial: boolean): void {
    for (const handler of this.#current) this.call(handler, "onAdd", () => handler.onAdd?.(object, { initial }));
  }

  updated(old: T, object: T): void {
    for (const handler of this.#current) this.call(handler, "onUpdate", () => handler.onUpdate?.(old, object));
  }

  deleted(last: T, unknownFinalState: boolean): void {
    for (const handler of this.#current)
      this.call(handler, "onDelete", () => handler.onDelete?.(last, { unknownFinalState }));
  }

  /** Calls one handler, unless it has been removed, and reports what it throws or rejects with. */
  call(handler: CacheHandler<T>, callback: string, call: () => void | Promise<void>): void {
    if (!this.#handlers.has(handler)) return;
    try {
      const result = call();
      if (result instanceof Promise) result.catch((error) => this.#report(callback, error));
    } catch (error) {
      this.#report(callback, error);
    }
  }

  #report(callback: string, error: unknown): void {
    this.#logger.error("cache handler failed", { callback, error: describeError(error) });
  }
}
