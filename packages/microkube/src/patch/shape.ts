import type { Schema } from "../schema/schema.ts";
import { fieldElement, keyElement, type PathElement, valueElement } from "./field-set.ts";
import { isObject, type JsonObject } from "./json-value.ts";

/** How a value is merged: as one, field by field, or element by element. */
export type Shape = "leaf" | "map" | "list";

/** Where anything may be: lists are one, maps are taken apart. */
const FREE: Schema = { type: "any" };

/** An element of a list that has no place in it. */
export class NoPlace extends Error {}

/** `values`: those that meet here; where the schema leaves it open, what they are decides. */
export function shapeOf(schema: Schema, ...values: readonly unknown[]): Shape {
  if (schema.atomic || schema.listType === "atomic") return "leaf";
  if (schema.type === "array") return isAssociative(schema) ? "list" : "leaf";
  if (schema.type === "object" || schema.properties !== undefined || schema.additionalProperties !== undefined)
    return "map";
  if (schema.type !== undefined && schema.type !== "any") return "leaf";
  return values.some(isObject) && !values.some(Array.isArray) ? "map" : "leaf";
}

/** Older kinds say by their strategy for patches what newer ones say by the type of the list. */
function isAssociative({ listType, patchStrategy }: Schema): boolean {
  return (
    listType === "map" ||
    listType === "set" ||
    (listType === undefined && patchStrategy?.split(",").includes("merge") === true)
  );
}

/** The schema of a field. Undefined where the schema does not know it. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const { properties, additionalProperties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  if (additionalProperties !== undefined) return additionalProperties;
  return isDeclared(schema) ? undefined : FREE;
}

/** Whether a struct's fields are all that may be in it. */
function isDeclared({ type, properties, preserveUnknown }: Schema): boolean {
  return type === "object" && properties !== undefined && !preserveUnknown;
}

/** Whether a field has a name in the schema, and is not just any of a map. */
export function isNamed({ properties }: Schema, name: string): boolean {
  return properties !== undefined && Object.hasOwn(properties, name);
}

export function itemSchema({ items }: Schema): Schema {
  return items ?? FREE;
}

/** Where a value's fields and elements are, in their order. An element that is there twice is in the list twice. */
export function partsOf(value: unknown, schema: Schema, shape: Shape): (readonly [PathElement, unknown])[] {
  if (value === undefined || value === null) return [];
  if (shape === "map") {
    return isObject(value) ? Object.entries(value).map(([name, one]) => [fieldElement(name), one] as const) : [];
  }
  if (!Array.isArray(value)) return [];
  return value.map((one, index) => {
    try {
      return [elementOf(one, schema), one] as const;
    } catch (error) {
      throw error instanceof NoPlace ? new NoPlace(`element ${index}: ${error.message}`) : error;
    }
  });
}

function elementOf(value: unknown, schema: Schema): PathElement {
  const keys = schema.listMapKeys ?? (schema.patchMergeKey === undefined ? [] : [schema.patchMergeKey]);
  return keys.length === 0 ? byValue(value) : byKeys(value, keys, schema);
}

function byValue(value: unknown): PathElement {
  if (Array.isArray(value)) throw new NoPlace("not supported: associative list with lists as elements");
  if (value === null || value === undefined) {
    throw new NoPlace("associative list without keys has an element that's an explicit null");
  }
  if (isObject(value)) throw new NoPlace("associative list without keys has an element that's a map type");
  return valueElement(value);
}

function byKeys(value: unknown, keys: readonly string[], schema: Schema): PathElement {
  if (value === null || value === undefined)
    throw new NoPlace("associative list with keys may not have a null element");
  if (!isObject(value)) throw new NoPlace("associative list with keys may not have non-map elements");
  const found = keys.map((key) => [key, keyValue(value, key, schema)] as const).filter(([, one]) => one !== undefined);
  if (found.length > 0) return keyElement(found);
  const names = keys.map((key) => JSON.stringify(key)).join(" ");
  throw new NoPlace(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

/** What is not there counts as its default: `protocol: TCP`. Also nothing, for what is no pointer, is something. */
function keyValue(value: JsonObject, key: string, { items }: Schema): unknown {
  if (Object.hasOwn(value, key)) return value[key];
  const { default: fallback, empty, type } = items?.properties?.[key] ?? {};
  if (fallback !== undefined) return fallback;
  if (empty !== "written") return undefined;
  return type === "string" ? "" : type === "boolean" ? false : 0;
}
