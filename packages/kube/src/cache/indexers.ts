import type { KubeObject } from "@fjord/base";

/**
 * The values under which an object is found in one index; none, one or several, and always the same for the same object.
 * When it throws, that is logged, and the object is in the cache without being in this index.
 */
export type Indexer<T extends KubeObject> = (object: T) => readonly string[];

export function byNamespace(object: KubeObject): readonly string[] {
  return object.metadata.namespace === undefined ? [] : [object.metadata.namespace];
}

/** By the uid of each owner. */
export function byOwner(object: KubeObject): readonly string[] {
  return object.metadata.ownerReferences?.map((owner) => owner.uid) ?? [];
}

/** By the value of one label; objects without it are in no entry. */
export function byLabel(name: string): Indexer<KubeObject> {
  return (object) => {
    const value = object.metadata.labels?.[name];
    return value === undefined ? [] : [value];
  };
}

/** Pods by the node they are bound to. */
export function byNode(object: KubeObject & { spec?: { nodeName?: string } }): readonly string[] {
  return object.spec?.nodeName ? [object.spec.nodeName] : [];
}
