import type { KubeObject } from "@fjord/base";
import { sameContent } from "@fjord/kube";
import type { NodeStore, StoredKey } from "../store/node-store.ts";

/** Takes what the API says of objects over into the store: all that comes in one go is one write to the disk. */
export class StoreWriter {
  readonly #store: NodeStore;
  readonly #waiting = new Map<string, { key: StoredKey; object: KubeObject | undefined }>();
  #scheduled = false;
  #closed = false;

  constructor(store: NodeStore) {
    this.#store = store;
  }

  /** What is stored, or is about to be. */
  object<T extends KubeObject>(key: StoredKey): T | undefined {
    const waiting = this.#waiting.get(textOf(key));
    return waiting === undefined ? this.#store.object<T>(key) : (waiting.object as T | undefined);
  }

  put(key: StoredKey, object: KubeObject): void {
    this.#add(key, object);
  }

  remove(key: StoredKey): void {
    this.#add(key, undefined);
  }

  /** Writes what is left. What comes later is the next process's to learn from the API: the store closes. */
  close(): void {
    this.flush();
    this.#closed = true;
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    const changes = [...this.#waiting.values()].filter(
      ({ key, object }) => !sameContent(this.#store.object(key), object),
    );
    this.#waiting.clear();
    if (changes.length === 0) return;
    this.#store.transaction(() => {
      for (const { key, object } of changes) {
        if (object === undefined) this.#store.removeObject(key);
        else this.#store.putObject(object);
      }
    });
  }

  #add(key: StoredKey, object: KubeObject | undefined): void {
    if (this.#closed) return;
    this.#waiting.set(textOf(key), { key, object });
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }
}

function textOf({ kind, namespace, name }: StoredKey): string {
  return `${kind}/${namespace}/${name}`;
}
