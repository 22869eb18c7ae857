import { apiVersionOf, type Kind, type KubeObject, type ObjectMeta } from "@fjord/base";

/** A type of kubernetes-models as clients see it: what comes from a server always has metadata. */
export type Typed<T extends { apiVersion: string; kind: string }> = Omit<T, "metadata"> & { metadata: ObjectMeta };

/** An object of a kind that has no TypeScript type here. */
export interface DynamicObject extends KubeObject {
  [field: string]: unknown;
}

/** A kind by its names alone, such as `defineKind("example.com/v1", "Boat", "boats")`. Discovery gives these too. */
export function defineKind<T extends KubeObject = DynamicObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  options: { namespaced?: boolean } = {},
): Kind<T> {
  return { ...parseApiVersion(apiVersion), kind, plural, namespaced: options.namespaced ?? true };
}

/** The two parts of `apps/v1`; the core group's is empty. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  if (slash === -1) return { group: "", version: apiVersion };
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** Whether an object is of a kind, by its own words. */
export function isOfKind<T extends KubeObject>(kind: Kind<T>, object: KubeObject): object is T {
  return object.kind === kind.kind && object.apiVersion === apiVersionOf(kind);
}
