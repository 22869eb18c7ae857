import { prefixesOf, type StoredObject } from "./store.ts";

/** What each object is now, in the order of keys within each resource. */
export class CurrentState {
  readonly #byKey = new Map<string, StoredObject>();
  /** By the prefix of the resource. */
  readonly #sorted = new Map<string, StoredObject[]>();

  get(key: string): StoredObject | undefined {
    return this.#byKey.get(key);
  }

  set(object: StoredObject): void {
    const [resource] = prefixesOf(object.key);
    let items = this.#sorted.get(resource);
    if (items === undefined) {
      items = [];
      this.#sorted.set(resource, items);
    }
    const at = firstNotBefore(items, object.key);
    items.splice(at, this.#byKey.has(object.key) ? 1 : 0, object);
    this.#byKey.set(object.key, object);
  }

  delete(key: string): void {
    if (!this.#byKey.delete(key)) return;
    const items = this.#sorted.get(prefixesOf(key)[0]) ?? [];
    items.splice(firstNotBefore(items, key), 1);
  }

  /** The objects of a resource, or of a resource in one namespace: `items[from]` to before `items[to]`. */
  range(prefix: string): { items: readonly StoredObject[]; from: number; to: number } {
    const whole = this.#sorted.get(prefix);
    if (whole !== undefined) return { items: whole, from: 0, to: whole.length };
    const items = this.#sorted.get(prefix.slice(0, prefix.lastIndexOf("/", prefix.length - 2) + 1)) ?? [];
    const from = firstNotBefore(items, prefix);
    // "0" is the character after "/".
    return { items, from, to: firstNotBefore(items, `${prefix.slice(0, -1)}0`, from) };
  }
}

/** Where in a sorted list the first item is whose key is not before `key`. */
export function firstNotBefore(items: readonly StoredObject[], key: string, from = 0): number {
  const last = items.at(-1);
  if (last === undefined || last.key < key) return items.length;
  let low = from;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle] as StoredObject).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
