import type { Kind, KubeObject } from "@fjord/base";
import type { SharedCaches } from "@fjord/kube";

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
}

type Handler = { onAdd?(object: unknown): void; onDelete?(object: unknown): void };

/** The own API as caches show it, without an API. */
export class TestCaches {
  readonly #objects = new Map<string, Map<string, unknown>>();
  readonly #handlers = new Set<Handler>();

  /** What was listed, each time. */
  readonly lists: string[] = [];

  readonly caches = {
    open: ({ plural }: Kind<KubeObject>, { namespace }: { namespace?: string } = {}) => ({
      cache: {
        list: () => {
          this.lists.push(plural);
          return [...this.#of(plural).values()].filter(
            (each) => namespace === undefined || placeOf(each) === namespace,
          );
        },
        get: ({ name }: { name: string }) => this.#of(plural).get(`/${name}`),
        addHandler: (handler: Handler) => {
          this.#handlers.add(handler);
          return () => this.#handlers.delete(handler);
        },
        waitForSync: async () => {},
      },
      [Symbol.dispose]: () => {},
    }),
  } as unknown as SharedCaches;

  put(plural: string, ...objects: Named[]): void {
    for (const object of objects) {
      this.#of(plural).set(`${object.metadata.namespace ?? ""}/${object.metadata.name}`, object);
      for (const handler of this.#handlers) handler.onAdd?.(object);
    }
  }

  remove(plural: string, name: string, namespace = ""): void {
    const key = `${namespace}/${name}`;
    const object = this.#of(plural).get(key);
    this.#of(plural).delete(key);
    for (const handler of this.#handlers) handler.onDelete?.(object);
  }

  #of(plural: string): Map<string, unknown> {
    const objects = this.#objects.get(plural) ?? new Map();
    this.#objects.set(plural, objects);
    return objects;
  }
}

function placeOf(object: unknown): string {
  return (object as { metadata: { namespace?: string } }).metadata.namespace ?? "";
}
