import type { KubeObject } from "@fjord/base";

/**
 * Changes an object before the cache keeps it: it is fresh from the wire and may be changed in place, but for `fieldsV1`,
 * which are frozen. It has to keep name, namespace, uid and resourceVersion, and to give the same result for the same
 * object. When it throws, that is logged and shows in the cache's health, and the object is kept as it is: to leave it
 * out would look like a deletion, and to wait for it would keep everything else back. So never rely on it to take out
 * secrets.
 */
export type Transform<T extends KubeObject> = (object: T) => T;

/** Forgets who manages which field: often a third of an object, and of no use to a reader. */
export function trimManagedFields<T extends KubeObject>(object: T): T {
  // Not `delete`: that would turn the object into a dictionary, which takes more memory than the field did.
  if (object.metadata.managedFields !== undefined) object.metadata.managedFields = undefined;
  return object;
}
