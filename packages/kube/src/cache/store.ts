import { describeError, type KubeObject, type Logger, silentLogger } from "@fjord/base";
import type { ObjectKey } from "../client/interfaces.ts";
import { IndexTaken, UnknownIndex } from "./errors.ts";
import type { Indexer } from "./indexers.ts";

/** What readers of a cache see. Objects are shared by all of them: treat each as read-only, and copy before changing it. */
export interface StoreReader<T extends KubeObject> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  /** Every object, or those of one namespace. */
  list(namespace?: string): T[];
  /** The objects that an indexer gave this value for. */
  byIndex(index: string, value: string): T[];
}

/** Objects by namespace and name, with indexes that are kept as objects come and go. */
export class Store<T extends KubeObject> implements StoreReader<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #logger: Logger;

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}, logger: Logger = silentLogger) {
    this.#logger = logger;
    for (const [name, indexer] of Object.entries(indexers)) this.addIndex(name, indexer);
  }

  /** Adds an index over what is there and what comes. */
  addIndex(name: string, indexer: Indexer<T>): void {
    const known = this.#indexes.get(name);
    if (known?.indexer === indexer) return;
    if (known !== undefined) throw new IndexTaken({ index: name });
    const index: Index<T> = { name, indexer, entries: new Map() };
    for (const [key, object] of this.#objects) enter(index, key, this.#values(index, key, object) ?? []);
    this.#indexes.set(name, index);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(keyText(key.namespace, key.name));
  }

  list(namespace?: string): T[] {
    if (namespace === undefined) return [...this.#objects.values()];
    return this.#objects
      .values()
      .filter((object) => object.metadata.namespace === namespace)
      .toArray();
  }

  byIndex(index: string, value: string): T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new UnknownIndex({ index, known: [...this.#indexes.keys()].join(", ") || "none" });
    const keys = found.entries.get(value) ?? [];
    return [...(typeof keys === "string" ? [keys] : keys)].map((key) => this.#objects.get(key) as T);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  at(key: string): T | undefined {
    return this.#objects.get(key);
  }

  set(key: string, object: T): void {
    this.#leaveIndexes(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) enter(index, key, this.#values(index, key, object) ?? []);
  }

  delete(key: string): void {
    this.#leaveIndexes(key);
    this.#objects.delete(key);
  }

  #leaveIndexes(key: string): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    // An indexer that throws now may not have thrown before: then every entry is looked at.
    for (const index of this.#indexes.values())
      leave(index, key, this.#values(index, key, old) ?? index.entries.keys());
  }

  /** Undefined when the indexer throws or gives nonsense: such an object is in the store, and in no entry of the index. */
  #values(index: Index<T>, key: string, object: T): readonly string[] | undefined {
    try {
      return Array.from(index.indexer(object));
    } catch (error) {
      this.#logger.error("cannot index an object", { index: index.name, key, error: describeError(error) });
      return undefined;
    }
  }
}

interface Index<T extends KubeObject> {
  readonly name: string;
  readonly indexer: Indexer<T>;
  /** Keys of objects by value; most values have one. */
  readonly entries: Map<string, string | Set<string>>;
}

function enter<T extends KubeObject>({ entries }: Index<T>, key: string, values: readonly string[]): void {
  for (const value of values) {
    const entry = entries.get(value);
    if (entry === undefined) entries.set(value, key);
    else if (typeof entry !== "string") entry.add(key);
    else if (entry !== key) entries.set(value, new Set([entry, key]));
  }
}

function leave<T extends KubeObject>({ entries }: Index<T>, key: string, values: Iterable<string>): void {
  for (const value of values) {
    const entry = entries.get(value);
    // An empty entry is dropped, or values that come and go (owner uids) would pile up for ever.
    if (entry === key) entries.delete(value);
    else if (entry instanceof Set && entry.delete(key) && entry.size === 0) entries.delete(value);
  }
}

/** `namespace/name`, or `name` alone. */
export function keyText(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function keyTextOf(object: KubeObject): string {
  return keyText(object.metadata.namespace, object.metadata.name ?? "");
}
