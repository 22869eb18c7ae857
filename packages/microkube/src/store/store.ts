/** One version of one object, as it is kept and as it is sent: text, with `metadata.resourceVersion` already in it. */
export interface StoredObject {
  /** `pods/shop/web`, `apps/deployments/shop/web`, `nodes//edge-1`: see `keyOf`. */
  readonly key: string;
  /** The revision that wrote this version; its resource version. */
  readonly revision: number;
  readonly json: string;
  /** What lists and watches select by, so that no text is parsed to be passed over. */
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

export interface StoreEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  /** For a deletion the last state, with the revision of the deletion as its resource version. */
  readonly object: StoredObject;
  /** The version before; absent for ADDED. A watch with selectors sees changes of membership by it. */
  readonly previous?: StoredObject;
}

export interface StoreWrite {
  readonly key: string;
  /** The revision that the object must have now; 0: it must not be there. */
  readonly expected: number;
  /**
   * The new content, given the revision that it will have; absent: the object is deleted. In the text `metadata` comes
   * before whatever else may hold a `resourceVersion`, because deletions give the last state a new one.
   */
  readonly content?: (revision: number) => Omit<StoredObject, "key" | "revision">;
}

export interface StoreRange {
  readonly items: readonly StoredObject[];
  /** The revision that the items were read at: of all pages of one list the same. */
  readonly revision: number;
  /** More follow after this key. */
  readonly next?: string;
  /** How many follow, where it is known. */
  readonly remaining?: number;
}

/**
 * Every object of a cluster, with one global revision that grows by one with each write. What a write's promise has
 * resolved for survives kill -9; readers and watchers see a write only then.
 */
export interface Store {
  /** Why nothing can be written at the moment; undefined: it can. */
  readonly problem?: string | undefined;
  readonly revision: number;
  /** Revisions below this one are no longer known: lists at them and watches from before them throw `Compacted`. */
  readonly compacted: number;
  get(key: string): StoredObject | undefined;
  /**
   * The newest version, also where it is not yet durable: for read-modify-write only, whose own write comes after it
   * and so cannot be durable without it.
   */
  head(key: string): StoredObject | undefined;
  /** In the order of keys. `revision`: as it was then. */
  list(prefix: string, options?: { limit?: number; after?: string; revision?: number }): StoreRange;
  /** All of them or none; throws `Changed` where one is not at its expected revision. Resolves with the last revision. */
  write(writes: readonly StoreWrite[]): Promise<number>;
  /** Events after the revision, in order, without a gap; returns what ends it. The listener is called synchronously. */
  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): () => void;
  compact(revision: number): void;
  close(): Promise<void>;
}

/** Where an object is kept. Objects of one resource are neighbours, and among them those of one namespace. */
export function keyOf(resource: { group: string; plural: string }, namespace: string, name: string): string {
  return `${prefixOf(resource, namespace)}${name}`;
}

/** What the keys of a resource, or of its objects in one namespace, begin with. */
export function prefixOf(resource: { group: string; plural: string }, namespace?: string): string {
  const of = resource.group === "" ? resource.plural : `${resource.group}/${resource.plural}`;
  return namespace === undefined ? `${of}/` : `${of}/${namespace}/`;
}

/** Thrown by `write`: the object is not at the revision that the writer has expected. */
export class Changed extends Error {
  readonly key: string;
  /** The revision that it has; 0: it is not there. */
  readonly actual: number;

  constructor(key: string, actual: number) {
    super(`${key} is at revision ${actual}`);
    this.name = "Changed";
    this.key = key;
    this.actual = actual;
  }
}

/** Thrown by `list` and `watch`: what was at the revision is no longer known. */
export class Compacted extends Error {
  readonly revision: number;
  /** The oldest revision that is still known. */
  readonly compacted: number;

  constructor(revision: number, compacted: number) {
    super(`revision ${revision} is older than ${compacted}, the oldest that is kept`);
    this.name = "Compacted";
    this.revision = revision;
    this.compacted = compacted;
  }
}

/** Thrown by `list` and `watch`: the revision is yet to come. */
export class NotYet extends Error {
  readonly revision: number;
  readonly current: number;

  constructor(revision: number, current: number) {
    super(`revision ${revision} is newer than ${current}, the newest that there is`);
    this.name = "NotYet";
    this.revision = revision;
    this.current = current;
  }
}

/** The prefix of a key's resource (`pods/`), and that of its namespace (`pods/shop/`). */
export function prefixesOf(key: string): readonly [resource: string, namespace: string] {
  const end = key.lastIndexOf("/");
  return [key.slice(0, key.lastIndexOf("/", end - 1) + 1), key.slice(0, end + 1)];
}

/** Nothing can be kept now, and nothing of the write has been; it may be again later, by itself. */
export class CannotKeep extends Error {}
