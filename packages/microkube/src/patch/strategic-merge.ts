import type { Schema } from "../schema/schema.ts";
import { badRequest } from "../status-error.ts";
import { inOrder } from "./element-order.ts";
import { getField, goText, isObject, type JsonObject, setField } from "./json-value.ts";

const PATCH = "$patch";
const RETAIN = "$retainKeys";
const DELETE = "$deleteFromPrimitiveList/";
const ORDER = "$setElementOrder/";

/** A strategic merge patch: the schema says which lists are merged, and by which key. Neither input is changed. */
export function strategicMerge(original: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  if (Object.hasOwn(patch, PATCH)) return replaceOrDelete(patch);
  const result = { ...original };
  retain(result, patch);
  const ordered = new Set<string>();
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(ORDER)) continue;
    const field = key.slice(ORDER.length);
    ordered.add(field);
    mergeInOrder(result, field, patch[field], order, fieldOf(schema, field));
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN || key.startsWith(ORDER) || ordered.has(key)) continue;
    if (key.startsWith(DELETE)) deletePrimitives(result, key.slice(DELETE.length), value);
    else mergeField(result, key, value, fieldOf(schema, key));
  }
  return result;
}

function replaceOrDelete(patch: JsonObject): JsonObject {
  const directive = patch[PATCH];
  if (directive === "delete") return {};
  if (directive !== "replace") throw badRequest(`unknown patch type: ${goText(directive)} in map: ${goText(patch)}`);
  const { [PATCH]: _, ...rest } = patch;
  return rest;
}

/** The part of a schema that a field has; a map's values are all alike. */
function fieldOf(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties } = schema ?? {};
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return schema?.additionalProperties;
}

function retain(result: JsonObject, patch: JsonObject): void {
  if (!Object.hasOwn(patch, RETAIN)) return;
  const keys = patch[RETAIN];
  if (!Array.isArray(keys)) throw badRequest("invalid patch format of retainKeys");
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key === RETAIN || key.startsWith(DELETE) || key.startsWith(ORDER)) continue;
    if (!keys.includes(key)) throw badRequest("invalid patch format of retainKeys");
  }
  for (const key of Object.keys(result)) if (!keys.includes(key)) delete result[key];
}

function deletePrimitives(result: JsonObject, field: string, values: unknown): void {
  const list = getField(result, field);
  if (list === undefined) return;
  if (!Array.isArray(values)) throw badRequest("invalid patch format of primitive list");
  if (Array.isArray(list))
    setField(
      result,
      field,
      list.filter((one) => !values.includes(one)),
    );
}

function mergeField(result: JsonObject, key: string, value: unknown, schema: Schema | undefined): void {
  if (value === null) {
    delete result[key];
    return;
  }
  const before = getField(result, key);
  if (isObject(before) && isObject(value)) {
    const replaces = strategies(schema).includes("replace");
    setField(result, key, replaces ? value : strategicMerge(before, value, schema));
  } else if (Array.isArray(before) && Array.isArray(value)) {
    setField(result, key, mergeList(before, value, schema));
  } else {
    const plain = withoutDirectives(value);
    if (plain === undefined) delete result[key];
    else setField(result, key, plain);
  }
}

const strategies = (schema: Schema | undefined): string[] => schema?.patchStrategy?.split(",") ?? [];

/** What a patch adds where nothing was: without nulls and directives; undefined if there is nothing left of it. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    // One that says only what to do with the others is no element.
    const isDirective = (one: unknown) => isObject(one) && Object.hasOwn(one, PATCH) && Object.keys(one).length === 1;
    const elements = value.filter((one) => !isDirective(one));
    return elements.map(withoutDirectives).filter((one) => one !== undefined);
  }
  if (!isObject(value)) return value;
  if (value[PATCH] === "delete") return undefined;
  const result: JsonObject = {};
  for (const [key, one] of Object.entries(value)) {
    if (one === null || key === PATCH || key === RETAIN || key.startsWith(ORDER) || key.startsWith(DELETE)) continue;
    const plain = withoutDirectives(one);
    if (plain !== undefined) setField(result, key, plain);
  }
  return result;
}

function mergeList(original: readonly unknown[], patch: readonly unknown[], schema: Schema | undefined): unknown[] {
  if (!strategies(schema).includes("merge")) return [...patch];
  if (original.length === 0 && patch.length === 0) return [];
  if (!isObject(original[0] ?? patch[0])) return mergeScalars(original, patch);
  const key = schema?.patchMergeKey ?? "";
  const { kept, rest } = obeyDirectives(original, patch, key);
  const merged = [...kept];
  for (const one of rest) {
    if (!isObject(one) || !Object.hasOwn(one, key)) throw noMergeKey(one, key);
    const at = merged.findIndex((before) => isObject(before) && before[key] === one[key]);
    if (at < 0) merged.push(withoutDirectives(one));
    else merged[at] = strategicMerge(merged[at] as JsonObject, one, schema?.items);
  }
  return inOrder(merged, rest, kept, (one) => (isObject(one) ? one[key] : undefined));
}

function mergeScalars(original: readonly unknown[], patch: readonly unknown[]): unknown[] {
  return inOrder([...new Set([...original, ...patch])], patch, original, (one) => one);
}

/** Elements of the patch that say what to do with others: `$patch: delete`, `$patch: replace`. */
function obeyDirectives(
  original: readonly unknown[],
  patch: readonly unknown[],
  key: string,
): { kept: readonly unknown[]; rest: readonly unknown[] } {
  let kept = original;
  let replaces = false;
  const rest: unknown[] = [];
  for (const one of patch) {
    const directive = isObject(one) ? one[PATCH] : undefined;
    if (!isObject(one) || directive === undefined) rest.push(one);
    else if (directive === "replace") replaces = true;
    else if (directive === "merge") throw badRequest("merging lists cannot yet be specified in the patch");
    else if (directive !== "delete") {
      throw badRequest(`unknown patch type: ${goText(directive)} in map: ${goText(one)}`);
    } else {
      if (!Object.hasOwn(one, key)) throw noMergeKey(one, key);
      kept = kept.filter((before) => !isObject(before) || before[key] !== one[key]);
    }
  }
  return replaces ? { kept: rest, rest: [] } : { kept, rest };
}

const noMergeKey = (element: unknown, key: string) =>
  badRequest(`map: ${goText(element)} does not contain declared merge key: ${key}`);

/** A list with its `$setElementOrder`: the patch's elements come as that says. */
function mergeInOrder(
  result: JsonObject,
  field: string,
  patched: unknown,
  order: unknown,
  schema: Schema | undefined,
): void {
  if (!Array.isArray(order)) throw badRequest("invalid patch format of setElementOrder list");
  const before = getField(result, field);
  const key = schema?.patchMergeKey;
  const identity = (one: unknown) => (key !== undefined && isObject(one) ? one[key] : one);
  if (Array.isArray(patched)) checkOrder(patched, order, identity);
  if (patched === null) {
    delete result[field];
    return;
  }
  if (!Array.isArray(before) && !Array.isArray(patched)) return;
  let merged: unknown[];
  if (!Array.isArray(before)) merged = withoutDirectives(patched) as unknown[];
  else merged = Array.isArray(patched) ? mergeList(before, patched, schema) : before;
  setField(result, field, inOrder(merged, order, Array.isArray(before) ? before : [], identity));
}

/** What the patch has must be in its order, in that order. */
function checkOrder(patched: readonly unknown[], order: readonly unknown[], identity: (one: unknown) => unknown): void {
  const wanted = patched.filter((one) => !isObject(one) || !Object.hasOwn(one, PATCH));
  let at = 0;
  for (const one of wanted) {
    const found = order.findIndex((place, index) => index >= at && identity(place) === identity(one));
    if (found < 0) {
      throw badRequest(
        `The order in patch list:\n${goText(wanted)}\n doesn't match $setElementOrder list:\n${goText(order)}\n`,
      );
    }
    at = found + 1;
  }
}
