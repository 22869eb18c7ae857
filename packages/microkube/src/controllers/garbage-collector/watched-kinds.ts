import type { Kind, KubeObject } from "@fjord/base";
import type { ApiResource } from "@fjord/kube";

const NEEDED = ["delete", "list", "watch"];

/** Events belong to nobody, and are many. */
const IGNORED = new Set(["events", "events.events.k8s.io"]);

/** One kind for each resource that can be deleted and watched, in the version that the server prefers. */
export function collectableKinds(resources: readonly ApiResource[]): Map<string, Kind> {
  const kinds = new Map<string, Kind>();
  for (const { kind, verbs } of resources) {
    const id = resourceId(kind);
    if (kinds.has(id) || IGNORED.has(id) || !NEEDED.every((verb) => verbs.includes(verb))) continue;
    kinds.set(id, kind);
  }
  return kinds;
}

/** `pods`, `deployments.apps`. */
export function resourceId({ group, plural }: Pick<Kind, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** All of an object that ownership is about: the rest would fill the memory with what nobody reads. */
export function ownershipOnly<T extends KubeObject>({ apiVersion, kind, metadata }: T): T {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = metadata;
  const kept = { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp };
  return { apiVersion, kind, metadata: kept } as T;
}
