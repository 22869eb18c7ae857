import { prefixesOf, type StoreEvent } from "./store.ts";

type Listener = (event: StoreEvent) => void;

/** Who is to be told of events: of a resource, or of a resource in one namespace. */
export class WatchHub {
  readonly #listeners = new Map<string, Set<Listener>>();

  add(prefix: string, listener: Listener): () => void {
    const set = this.#listeners.get(prefix) ?? new Set();
    this.#listeners.set(prefix, set);
    // An object of its own, so that the same function may listen twice.
    const own: Listener = (event) => listener(event);
    set.add(own);
    return () => {
      set.delete(own);
      if (set.size === 0 && this.#listeners.get(prefix) === set) this.#listeners.delete(prefix);
    };
  }

  tell(event: StoreEvent): void {
    const [resource, namespace] = prefixesOf(event.object.key);
    for (const listener of this.#listeners.get(resource) ?? []) listener(event);
    for (const listener of this.#listeners.get(namespace) ?? []) listener(event);
  }
}
