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
  /** Instead of `matches`, where that takes a conversion: those of `objects` that match. */
  among?(objects: readonly StoredObject[]): Promise<ReadonlySet<StoredObject>>;
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

/** What is kept, for where that is not what selectors are about. */
export interface SelectionMeans {
  /** For views, whose fields are not those that are kept. */
  read(stored: StoredObject): KubeObject;
  /** As the request's version has it. */
  shown(stored: StoredObject): Promise<KubeObject>;
}

/** What selectors say of objects of a type, as a version of it has them. */
export function selectionOf(
  type: ResourceType,
  version: string,
  { labelSelector = "", fieldSelector = "" }: Selectors,
  means: SelectionMeans,
): Selection {
  if (labelSelector === "" && fieldSelector === "") return everything;
  try {
    const labels = parseLabelSelector(labelSelector);
    const terms = parseFieldSelector(fieldSelector);
    const asked = { ...type, ...type.ofVersion?.(version) };
    for (const { field } of terms) checkField(asked, field);
    const fields = fieldMatch(type, terms, means.read);
    const exact = (field: string) => terms.find((term) => term.field === field && !term.negated)?.value;
    const name = exact("metadata.name");
    const namespace = exact("metadata.namespace");
    return {
      matches: (object) => fields(object) && labels(object.labels),
      ...(type.ofVersion && terms.some(isOfContent) && { among: shownMatch(asked, terms, labels, means) }),
      isEverything: false,
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
    };
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw badRequest(error.message);
  }
}

const isOfContent = ({ field }: FieldTerm) => !field.startsWith("metadata.n");

function checkField({ selectableFields, namespaced, ofVersion }: ResourceType, field: string): void {
  if (field === "metadata.name") return;
  if (field === "metadata.namespace" && (namespaced || ofVersion === undefined)) return;
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
  const needsFields = terms.some(isOfContent);
  return (object) => {
    const { storedAs } = type;
    const fields = !needsFields ? object.fields : storedAs === undefined ? object.fields : fieldsOf(type, read(object));
    return hold(terms, object.key, fields);
  };
}

/** Custom resources may be kept as another version, or from before a field could be selected by. */
function shownMatch(
  type: ResourceType,
  terms: readonly FieldTerm[],
  labels: (labels: StoredObject["labels"]) => boolean,
  { shown }: SelectionMeans,
): NonNullable<Selection["among"]> {
  return async (objects) => {
    const chosen = new Set<StoredObject>();
    const choose = async (object: StoredObject) => {
      if (!labels(object.labels)) return;
      if (hold(terms, object.key, fieldsOf(type, await shown(object)))) chosen.add(object);
    };
    await Promise.all(objects.map(choose));
    return chosen;
  };
}

function hold(terms: readonly FieldTerm[], key: string, fields: Readonly<Record<string, string>>): boolean {
  const [namespace, name] = placeInKey(key);
  return terms.every(({ field, value, negated }) => {
    const actual =
      field === "metadata.name" ? name : field === "metadata.namespace" ? namespace : (fields[field] ?? "");
    return (actual === value) !== negated;
  });
}

/** The namespace and the name in a key. */
export function placeInKey(key: string): [namespace: string, name: string] {
  const end = key.lastIndexOf("/");
  return [key.slice(key.lastIndexOf("/", end - 1) + 1, end), key.slice(end + 1)];
}
