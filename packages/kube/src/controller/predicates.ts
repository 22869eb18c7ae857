import type { KubeObject } from "@fjord/base";
import type { Change, Predicate } from "./source.ts";

/** Lets additions and deletions through, and updates only where `differs` finds a difference. */
export function updatesWhere<T extends KubeObject>(differs: (old: T, object: T) => boolean): Predicate<T> {
  return (change) => change.type !== "update" || differs(change.old, change.object);
}

/**
 * Updates of the spec, and the mark of deletion; not those of status alone. Only for kinds that count generations, as
 * custom resources with a status subresource do.
 */
export const generationChanged: Predicate = updatesWhere(
  ({ metadata: old }, { metadata }) =>
    old.generation !== metadata.generation || old.deletionTimestamp !== metadata.deletionTimestamp,
);

/** Updates that changed anything at all: not what a resync delivers again. */
export const resourceVersionChanged: Predicate = updatesWhere(
  (old, object) => old.metadata.resourceVersion !== object.metadata.resourceVersion,
);

export const labelsChanged: Predicate = updatesWhere(
  (old, object) => !sameStrings(old.metadata.labels, object.metadata.labels),
);

export const annotationsChanged: Predicate = updatesWhere(
  (old, object) => !sameStrings(old.metadata.annotations, object.metadata.annotations),
);

export function allOf<T extends KubeObject>(...predicates: Predicate<T>[]): Predicate<T> {
  return (change: Change<T>) => predicates.every((predicate) => predicate(change));
}

export function anyOf<T extends KubeObject>(...predicates: Predicate<T>[]): Predicate<T> {
  return (change: Change<T>) => predicates.some((predicate) => predicate(change));
}

function sameStrings(a: Record<string, string> = {}, b: Record<string, string> = {}): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
