import type { Clock, KubeObject } from "@fjord/base";
import { type Cache, requestFor } from "@fjord/kube";

/** After so long the cache is believed again. */
const FORGET_AFTER_MS = 30_000;

interface Pending {
  readonly object: KubeObject;
  readonly deleted: boolean;
  readonly since: number;
}

/**
 * What was written for an owner and the cache may not show yet. While it is behind, the owner is left alone: the cache's
 * own news bring it back.
 */
export class PendingWrites<T extends KubeObject> {
  readonly #clock: Clock;
  readonly #cache: Cache<T>;
  readonly #pending = new Map<string, Map<string, Pending>>();

  constructor(clock: Clock, cache: Cache<T>) {
    this.#clock = clock;
    this.#cache = cache;
  }

  /** `object` as the server gave it back. */
  wrote(owner: string, object: T): void {
    this.#add(owner, object, false);
  }

  deleted(owner: string, object: T): void {
    this.#add(owner, object, true);
  }

  isBehind(owner: string): boolean {
    const pending = this.#pending.get(owner);
    if (pending === undefined) return false;
    for (const [uid, write] of pending) if (this.#isSeen(write)) pending.delete(uid);
    if (pending.size > 0) return true;
    this.#pending.delete(owner);
    return false;
  }

  forget(owner: string): void {
    this.#pending.delete(owner);
  }

  #add(owner: string, object: T, deleted: boolean): void {
    let pending = this.#pending.get(owner);
    if (pending === undefined) {
      pending = new Map();
      this.#pending.set(owner, pending);
    }
    pending.set(object.metadata.uid ?? "", { object, deleted, since: this.#clock.now() });
  }

  #isSeen({ object, deleted, since }: Pending): boolean {
    if (this.#clock.now() - since > FORGET_AFTER_MS) return true;
    const cached = this.#cache.get(requestFor(object));
    if (deleted)
      return cached?.metadata.uid !== object.metadata.uid || cached?.metadata.deletionTimestamp !== undefined;
    return cached !== undefined && version(cached) >= version(object);
  }
}

function version({ metadata }: KubeObject): bigint {
  const { resourceVersion = "" } = metadata;
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
