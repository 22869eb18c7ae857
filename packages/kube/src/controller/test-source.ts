import type { KubeObject } from "@fjord/base";
import type { CacheHandler } from "../cache/handlers.ts";
import { formatRequest, requestFor } from "./request.ts";
import type { Source } from "./source.ts";

/** For tests: a source that changes when told to. */
export class TestSource<T extends KubeObject> implements Source<T> {
  readonly handlers = new Set<CacheHandler<T>>();
  readonly #objects = new Map<string, T>();
  readonly #synced = Promise.withResolvers<void>();

  constructor(objects: T[] = [], { synced = true } = {}) {
    for (const object of objects) this.set(object);
    if (synced) this.sync();
  }

  sync(): void {
    this.#synced.resolve();
  }

  set(object: T): void {
    const key = formatRequest(requestFor(object));
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const handler of this.handlers) {
      if (old === undefined) handler.onAdd?.(object, { initial: false });
      else handler.onUpdate?.(old, object);
    }
  }

  remove(object: T): void {
    this.#objects.delete(formatRequest(requestFor(object)));
    for (const handler of this.handlers) handler.onDelete?.(object, { unknownFinalState: false });
  }

  addHandler(handler: CacheHandler<T>): () => void {
    for (const object of this.#objects.values()) handler.onAdd?.(object, { initial: true });
    this.handlers.add(handler);
    return () => this.handlers.delete(handler);
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    const gaveUp = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => gaveUp.reject(new Error("the list was refused")));
    await Promise.race([this.#synced.promise, gaveUp.promise]);
  }
}
