import { apiVersionOf, describeError, type Kind, type KubeObject, type Logger } from "@fjord/base";
import type { CacheRoom } from "./cache-room.ts";
import { CacheFull, TransformLostObject } from "./errors.ts";
import type { HandlerSet } from "./handlers.ts";
import { roughSize } from "./rough-size.ts";
import { sameContent } from "./same-content.ts";
import { SharedValues } from "./shared-values.ts";
import { keyTextOf, type Store } from "./store.ts";
import type { Transform } from "./trim.ts";

/** A list on its way into the mirror. One that comes to no good end is abandoned. */
export interface MirrorList<T extends KubeObject> {
  page(items: readonly T[]): { fresh: number };
  end(): void;
  abandon(): void;
}

/** Brings a store in line with what a server lists and sends, and tells the handlers of each difference, once. */
export class Mirror<T extends KubeObject> {
  readonly #kind: Kind<T>;
  readonly #store: Store<T>;
  readonly #handlers: HandlerSet<T>;
  readonly #transform: Transform<T>;
  readonly #logger: Logger;
  readonly #shared: SharedValues;
  /** What the store holds as it came, because the transform failed. */
  readonly #untransformed = new Set<string>();
  readonly #room: CacheRoom | undefined;
  /** Bytes of each object, where room is limited. */
  readonly #sizes = new Map<string, number>();
  #held = 0;
  #complete = false;

  constructor(
    kind: Kind<T>,
    store: Store<T>,
    handlers: HandlerSet<T>,
    logger: Logger,
    transform: Transform<T> = asItCame,
    room?: CacheRoom,
  ) {
    this.#kind = kind;
    this.#store = store;
    this.#handlers = handlers;
    this.#logger = logger;
    this.#transform = transform;
    this.#shared = sharedValuesOf(kind, transform);
    this.#room = room;
  }

  /** How many objects are held as they came, because the transform failed. */
  get untransformed(): number {
    return this.#untransformed.size;
  }

  /** Whether a whole list has been taken over. */
  get complete(): boolean {
    return this.#complete;
  }

  /**
   * Takes a list over page by page. A list is the truth of its moment, older resource versions included: after a server
   * was restored from a backup they go backwards. Where room is limited, it is taken over as a whole at its end, and one
   * that is larger changes nothing.
   */
  beginList(): MirrorList<T> {
    return this.#room === undefined ? this.#listByPages() : this.#listAsWhole(this.#room);
  }

  #listByPages(): MirrorList<T> {
    const seen = new Set<string>();
    return {
      page: (items) => {
        const before = seen.size;
        for (const item of items) {
          const object = this.#prepare(item);
          const key = keyTextOf(object);
          seen.add(key);
          this.#listed(key, object);
        }
        return { fresh: seen.size - before };
      },
      end: () => this.#listEnded(seen),
      abandon: () => {},
    };
  }

  #listAsWhole(room: CacheRoom): MirrorList<T> {
    const found = new Map<string, T>();
    let bytes = 0;
    const giveBack = () => {
      room.take(-bytes);
      bytes = 0;
    };
    return {
      page: (items) => {
        const before = found.size;
        for (const item of items) {
          const object = this.#prepare(item);
          const size = roughSize(object);
          found.set(keyTextOf(object), object);
          bytes += size;
          room.take(size);
          if (room.taken - this.#held > room.bytes) throw this.#full(room);
          this.#shared.keep(object);
        }
        return { fresh: found.size - before };
      },
      end: () => {
        giveBack();
        for (const [key, object] of found) this.#listed(key, object);
        this.#listEnded(found);
      },
      abandon: () => {
        giveBack();
        for (const key of found.keys()) if (this.#store.at(key) === undefined) this.#untransformed.delete(key);
      },
    };
  }

  #listEnded(seen: { has(key: string): boolean }): void {
    for (const key of [...this.#store.keys()]) if (!seen.has(key)) this.#remove(key, undefined);
    for (const key of this.#untransformed) if (!seen.has(key)) this.#untransformed.delete(key);
    this.#complete = true;
  }

  /** Takes an event over; false when it does not follow from what is stored, so that something must have been missed. */
  apply(type: "ADDED" | "MODIFIED" | "DELETED", raw: T): boolean {
    const object = this.#prepare(raw, type !== "DELETED");
    const key = keyTextOf(object);
    const old = this.#store.at(key);
    if (type === "DELETED") {
      const known = old?.metadata.uid === object.metadata.uid;
      this.#remove(key, known ? object : undefined);
      this.#untransformed.delete(key);
      return old !== undefined && known;
    }
    const follows = old === undefined ? type === "ADDED" : type === "MODIFIED" && sameIdentity(old, object);
    if (old !== undefined && sameIdentity(old, object) && sameVersion(old, object)) return true;
    this.#checkRoom(key, object);
    this.#put(key, old, object);
    return follows;
  }

  /**
   * Compares with a list of the very revision that the store stands at, or with its first page. Revisions are taken
   * again by other writes after a restore, hence the look at the content.
   */
  agrees(items: readonly T[], whole: boolean): boolean {
    let last = "";
    for (const item of items) {
      const object = this.#prepare(item);
      last = keyTextOf(object);
      const stored = this.#store.at(last);
      if (stored === undefined || !sameContent(stored, object)) return false;
    }
    if (whole) return items.length === this.#store.size;
    let upToLast = 0;
    for (const key of this.#store.keys()) if (key <= last) upToLast++;
    return upToLast === items.length;
  }

  #listed(key: string, object: T): void {
    const old = this.#store.at(key);
    if (old !== undefined && sameVersion(old, object) && sameContent(old, object)) return;
    this.#put(key, old, object);
  }

  #checkRoom(key: string, object: T): void {
    if (this.#room === undefined) return;
    const more = roughSize(object) - (this.#sizes.get(key) ?? 0);
    if (more > 0 && this.#room.taken + more > this.#room.bytes) throw this.#full(this.#room);
  }

  #full({ bytes, server }: CacheRoom): Error {
    return new CacheFull({ server, kind: this.#kind.kind, megabytes: Math.ceil(bytes / 2 ** 20) });
  }

  /** Notes what is held of an object from now on. */
  #hold(key: string, object: T | undefined): void {
    if (this.#room === undefined) return;
    const size = object === undefined ? 0 : roughSize(object);
    const more = size - (this.#sizes.get(key) ?? 0);
    if (object === undefined) this.#sizes.delete(key);
    else this.#sizes.set(key, size);
    this.#held += more;
    this.#room.take(more);
  }

  #put(key: string, old: T | undefined, object: T): void {
    this.#shared.keep(object);
    if (old !== undefined && sameIdentity(old, object)) {
      this.#hold(key, object);
      this.#store.set(key, object);
      this.#handlers.updated(old, object);
      return;
    }
    this.#remove(key, undefined);
    this.#hold(key, object);
    this.#store.set(key, object);
    this.#handlers.added(object, !this.#complete);
  }

  /** Without a final state, handlers get the last one known. */
  #remove(key: string, final: T | undefined): void {
    const old = this.#store.at(key);
    if (old === undefined) return;
    this.#hold(key, undefined);
    this.#store.delete(key);
    this.#handlers.deleted(final ?? old, final === undefined);
  }

  /**
   * One object that the transform cannot take must not keep all the others back. What goes is not kept, and to find what it has in
   * common with others takes as long as to parse it.
   */
  #prepare(object: T, isKept = true): T {
    // Items of a list come without the two: the list itself names them.
    object.apiVersion ??= apiVersionOf(this.#kind);
    object.kind ??= this.#kind.kind;
    const key = keyTextOf(object);
    try {
      const kept = this.#transform(object);
      if (keyTextOf(kept) !== key) throw new TransformLostObject({ kind: this.#kind.kind, key });
      if (isKept) this.#shared.share(kept, this.#store.at(key));
      this.#untransformed.delete(key);
      return kept;
    } catch (error) {
      const fields = { kind: this.#kind.kind, key, error: describeError(error) };
      if (!this.#untransformed.has(key)) this.#logger.error("cannot transform an object: it is kept as it is", fields);
      this.#untransformed.add(key);
      return object;
    }
  }
}

function asItCame<T>(object: T): T {
  return object;
}

/** Of each kind, by the transform: caches of the same that came of the same share what is equal. */
const sharedValues = new WeakMap<object, Map<string, SharedValues>>();

function sharedValuesOf<T extends KubeObject>({ group, plural }: Kind<T>, transform: Transform<T>): SharedValues {
  const ofKinds = sharedValues.get(transform) ?? new Map<string, SharedValues>();
  sharedValues.set(transform, ofKinds);
  const name = `${plural}.${group}`;
  const found = ofKinds.get(name) ?? new SharedValues();
  ofKinds.set(name, found);
  return found;
}

function sameIdentity(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}

function sameVersion(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion;
}
