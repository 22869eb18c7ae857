import type { KubeObject } from "@fjord/base";
import type { ResourceType } from "../kinds/resource-type.ts";
import { badRequest } from "../status-error.ts";
import type { StoredObject } from "../store/store.ts";
import { type FieldTerm, parseFieldSelector } from "./field-selector.ts";
import { parseLabelSelector, SelectorError } from "./label-selector.ts";
import { fieldsOf } from "./object-text.ts";

/** What a list, a watch or a deletion of many is of. */
export interface Selection {
  matches(object: StoredObject): boolean;
  /** Whether it leaves nothing out. */
  readonly isEverything: boolean;
  /** The one name that can match, if there is one only. */
  readonly name?: string;
  /** The one namespace that can match. */
  readonly namespace?: string;
}

export const everything: Selection = { matches: () => true, isEverything: true };

export interface Selectors {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** What selectors say of objects of a type. `read` is for views, whose fields are not those that are kept. */
export function selectionOf(
  type: ResourceType,
  { labelSelector = "", fieldSelector = "" }: Selectors,
  read: (stored: StoredObject) => KubeObject,
): Selection {
  if (labelSelector === "" && fieldSelector === "") return everything;
  try {
    const labels = parseLabelSelector(labelSelector);
    const terms = parseFieldSelector(fieldSelector);
    for (const { field } of terms) checkField(type, field);
    const fields = fieldMatch(type, terms, read);
    const exact = (field: string) => terms.find((term) => term.field === field && !term.negated)?.value;
    const name = exact("metadata.name");
    const namespace = exact("metadata.namespace");
    return {
      matches: (object) => fields(object) && labels(object.labels),
      isEverything: false,
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
    };
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw badRequest(error.message);
  }
}

function checkField({ selectableFields }: ResourceType, field: string): void {
  if (field === "metadata.name" || field === "metadata.namespace") return;
  if (selectableFields === undefined) {
    throw new SelectorError(
      `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  if (Object.hasOwn(selectableFields, field)) return;
  throw new SelectorError(`field label not supported: ${field}`);
}

function fieldMatch(
  type: ResourceType,
  terms: readonly FieldTerm[],
  read: (stored: StoredObject) => KubeObject,
): (object: StoredObject) => boolean {
  if (terms.length === 0) return () => true;
  const needsFields = terms.some(({ field }) => !field.startsWith("metadata.n"));
  return (object) => {
    const [namespace, name] = placeInKey(object.key);
    const { storedAs } = type;
    const fields = !needsFields ? object.fields : storedAs === undefined ? object.fields : fieldsOf(type, read(object));
    return terms.every(({ field, value, negated }) => {
      const actual =
        field === "metadata.name" ? name : field === "metadata.namespace" ? namespace : (fields[field] ?? "");
      return (actual === value) !== negated;
    });
  };
}

/** The namespace and the name in a key. */
export function placeInKey(key: string): [namespace: string, name: string] {
  const end = key.lastIndexOf("/");
  return [key.slice(key.lastIndexOf("/", end - 1) + 1, end), key.slice(end + 1)];
}
