import type { KubeObject, ObjectMeta } from "@fjord/base";
import type { ResourceTypes } from "../cluster.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { hasTooManyValues, tooManyValues } from "../schema/body.ts";
import { tooLarge } from "../status-error.ts";
import type { StoredObject } from "../store/store.ts";
import { copyOf } from "./copy.ts";

/**
 * The text of an object as it is kept and sent. Its kind comes first, so that lists can leave it out, and its metadata
 * before the rest, so that deletions find the resource version.
 */
export function objectText(object: KubeObject, resourceVersion: string | undefined): string {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { name, generateName, namespace, uid, resourceVersion: _, ...more } = metadata;
  const first: ObjectMeta = { name, generateName, namespace, uid, resourceVersion };
  return JSON.stringify({ kind, apiVersion, metadata: Object.assign(first, more), ...rest });
}

/** As large as what one request may bring: patches would else make objects grow without an end. */
const LARGEST = 3 * 1024 * 1024;

/** The text to be kept; throws (413) where it is too large. */
function keptText(object: KubeObject, revision: number): string {
  const text = objectText(object, String(revision));
  if (text.length > LARGEST) throw tooLarge("etcdserver: request is too large");
  if (hasTooManyValues(text)) throw tooManyValues();
  return text;
}

/** What is kept of an object that is written at a revision. A view's objects are kept as those of what it is a view of. */
export function contentOf(
  means: { readonly cluster: { readonly types: ResourceTypes } },
  type: ResourceType,
  object: KubeObject,
  revision: number,
): Omit<StoredObject, "key" | "revision"> {
  const { storedAs } = type;
  if (storedAs !== undefined) {
    const kept = means.cluster.types.find(storedAs.group, storedAs.version, storedAs.plural);
    const own = storedAs.toStored(copyOf(object));
    if (kept !== undefined && kept !== type) return contentOf(means, kept, own, revision);
    return { json: keptText(own, revision), labels: labelsOf(own), fields: none };
  }
  return { json: keptText(object, revision), labels: labelsOf(object), fields: fieldsOf(type, object) };
}

const none: Readonly<Record<string, string>> = Object.freeze({});

function labelsOf({ metadata: { labels } }: KubeObject): Readonly<Record<string, string>> {
  return labels === undefined || labels === null ? none : { ...labels };
}

/** The fields that selectors may name, beyond name and namespace, which are in the key. */
export function fieldsOf({ selectableFields }: ResourceType, object: KubeObject): Readonly<Record<string, string>> {
  if (selectableFields === undefined) return none;
  const fields: Record<string, string> = {};
  for (const [field, value] of Object.entries(selectableFields)) fields[field] = value(object);
  return fields;
}
