import type { Kind, KubeObject } from "@fjord/base";
import { type KubeClient, requestFor } from "@fjord/kube";
import { sameValue } from "./same-value.ts";

type Fields = Record<string, unknown>;

/**
 * What has to be merged into `old` to make it `next`; undefined where they say the same. Fields that are gone become
 * null, lists are given whole.
 */
export function mergePatch(old: Fields, next: Fields): Fields | undefined {
  const patch: Fields = {};
  for (const key in old) if (old[key] !== undefined && next[key] === undefined) patch[key] = null;
  for (const key in next) {
    const value = next[key];
    if (value === undefined || sameValue(old[key], value)) continue;
    const inner = isFields(old[key]) && isFields(value) ? mergePatch(old[key], value) : value;
    if (inner !== undefined) patch[key] = inner;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface StatusChange {
  readonly status: object;
  /** Written along with the status, where they differ. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Writes the status where it differs from the object's, by a patch of what differs; a conflict where the object has
 * changed meanwhile. Gives the object as it then is, the very same where there was nothing to write.
 */
export async function writeStatus<T extends KubeObject & { status?: object }>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
  { status, annotations }: StatusChange,
  signal: AbortSignal,
): Promise<T> {
  const next = mergePatch((object.status ?? {}) as Fields, status as Fields);
  const added =
    annotations && mergePatch({ ...object.metadata.annotations }, { ...object.metadata.annotations, ...annotations });
  if (next === undefined && added === undefined) return object;
  const { resourceVersion, uid } = object.metadata;
  const patch = {
    metadata: { resourceVersion, uid, ...(added && { annotations: added }) },
    ...(next && { status: next }),
  };
  return await client.patch(kind, requestFor(object), "merge", patch, { subresource: "status", signal });
}

/** Changes some fields of an object; a conflict where it has changed meanwhile. */
export function writeFields<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
  fields: { readonly metadata?: object; readonly [field: string]: unknown },
  signal: AbortSignal,
): Promise<T> {
  const { resourceVersion, uid } = object.metadata;
  const patch = { ...fields, metadata: { ...fields.metadata, resourceVersion, uid } };
  return client.patch(kind, requestFor(object), "merge", patch, { signal });
}
