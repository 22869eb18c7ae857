import { apiVersion } from "./group.ts";
import type { DraftOf, FjordKind, ObjectOf } from "./kind.ts";
import { fillDefaults } from "./schema/index.ts";

/** A whole object from what a writer gives, with the defaults that the API server would fill in. */
export function newObject<K extends FjordKind>(kind: K, draft: DraftOf<K>): ObjectOf<K> {
  const { metadata, spec } = draft as { metadata: object; spec?: unknown };
  const filled = fillDefaults(kind.spec.node, spec);
  return { apiVersion, kind: kind.kind, metadata: { ...metadata }, spec: filled } as unknown as ObjectOf<K>;
}
