import type { KubeObject } from "@fjord/base";

/**
 * Changes an object before the cache keeps it: it is fresh from the wire and may be changed in place. It has to keep
 * name, namespace, uid and resourceVersion, and to give the same result for the same object.
 */
export type Transform<T extends KubeObject> = (object: T) => T;

/** Forgets who manages which field: often a third of an object, and of no use to a reader. */
export function trimManagedFields<T extends KubeObject>(object: T): T {
  // Not `delete`: that would turn the object into a dictionary, which takes more memory than the field did.
  if (object.metadata.managedFields !== undefined) object.metadata.managedFields = undefined;
  return object;
}
