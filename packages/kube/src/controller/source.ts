import type { Kind, KubeObject } from "@fjord/base";
import type { CacheHandler } from "../cache/handlers.ts";
import { parseApiVersion } from "../kinds/typed.ts";
import { formatRequest, type Request, requestFor } from "./request.ts";

/** Where changes come from; every `Cache` is one. */
export interface Source<T extends KubeObject> {
  /** What is there already is delivered as initial adds. The function returned takes the handler away. */
  addHandler(handler: CacheHandler<T>): () => void;
  waitForSync(signal: AbortSignal): Promise<unknown>;
}

export type Change<T extends KubeObject> =
  | { readonly type: "add"; readonly object: T; readonly initial: boolean }
  | { readonly type: "update"; readonly object: T; readonly old: T }
  | { readonly type: "delete"; readonly object: T };

/** Whether a change matters. It must be quick, and must not have effects. */
export type Predicate<T extends KubeObject = KubeObject> = (change: Change<T>) => boolean;

/** Which objects to reconcile because of this one. For an update it is asked about the old and the new object. */
export type MapFunction<T extends KubeObject> = (object: T) => Iterable<Request>;

export interface WatchesOptions<T extends KubeObject> {
  /** @default the object itself */
  map?: MapFunction<T>;
  /** @default every change */
  when?: Predicate<T>;
}

/** One thing that a controller watches. Made by `watches` and `owns`. */
export interface Watch {
  subscribe(enqueue: (request: Request) => void): () => void;
  waitForSync(signal: AbortSignal): Promise<unknown>;
}

/** Reconciles each object that changes, or those that `map` names for it. */
export function watches<T extends KubeObject>(
  source: Source<T>,
  options: MapFunction<T> | WatchesOptions<T> = {},
): Watch {
  const { map = itself, when = always }: WatchesOptions<T> = typeof options === "function" ? { map: options } : options;
  return {
    waitForSync: (signal) => source.waitForSync(signal),
    subscribe(enqueue) {
      const tell = (change: Change<T>) => {
        if (!when(change)) return;
        // Each once: a worker may take the first at the very moment it is added, and would do it all again for the second.
        const requests = new Map<string, Request>();
        const objects = change.type === "update" ? [change.old, change.object] : [change.object];
        for (const request of objects.flatMap((object) => [...map(object)]))
          requests.set(formatRequest(request), request);
        for (const request of requests.values()) enqueue(request);
      };
      return source.addHandler({
        onAdd: (object, { initial }) => tell({ type: "add", object, initial }),
        onUpdate: (old, object) => tell({ type: "update", old, object }),
        onDelete: (object) => tell({ type: "delete", object }),
      });
    },
  };
}

/** Reconciles the controlling owner, of kind `owner`, of each object that changes. */
export function owns<T extends KubeObject>(
  source: Source<T>,
  owner: Kind,
  options: Pick<WatchesOptions<T>, "when"> = {},
): Watch {
  return watches(source, { ...options, map: controllerOf(owner) });
}

/** Maps an object to its owner of that kind which is marked as the controller, whatever version the reference names. */
export function controllerOf(owner: Kind): MapFunction<KubeObject> {
  return ({ metadata }) => {
    const reference = metadata.ownerReferences?.find((candidate) => candidate.controller === true);
    if (reference?.kind !== owner.kind || parseApiVersion(reference.apiVersion).group !== owner.group) return [];
    if (!owner.namespaced || metadata.namespace === undefined) return [{ name: reference.name }];
    return [{ name: reference.name, namespace: metadata.namespace }];
  };
}

function itself(object: KubeObject): Request[] {
  return [requestFor(object)];
}

function always(): boolean {
  return true;
}
