import type { Schema } from "../schema/schema.ts";
import type { FieldSet, PathElement } from "./field-set.ts";
import { elementText, fieldName } from "./field-set.ts";
import { isObject, type JsonObject, setField } from "./json-value.ts";
import { NoPlace, partsOf, shapeOf } from "./shape.ts";
import { partSchema } from "./typed-sets.ts";

/** What is live, with what is wanted put over it, field by field. Undefined if that is nothing. */
export function mergeTyped(live: unknown, wanted: unknown, schema: Schema): unknown {
  const shape = shapeOf(schema, live, wanted);
  if (shape === "leaf" || (isEmpty(live) && isEmpty(wanted))) return wanted === undefined ? live : wanted;
  if (shape === "list") return mergeElements(live, wanted, schema);
  const result: JsonObject = {};
  const before = isObject(live) ? live : {};
  const after = isObject(wanted) ? wanted : {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const own = (object: JsonObject) => (Object.hasOwn(object, name) ? object[name] : undefined);
    const merged = mergeTyped(own(before), own(after), partSchema(schema, `f:${name}`));
    if (merged !== undefined) setField(result, name, merged);
  }
  return Object.keys(result).length === 0 ? undefined : result;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** The wanted elements keep their order, and so do the live ones among themselves where that is possible. */
function mergeElements(live: unknown, wanted: unknown, schema: Schema): unknown {
  const old = partsOf(live, schema, "list");
  const next = partsOf(wanted, schema, "list");
  const oldOnes = new Map<PathElement, unknown>();
  for (const [element, value] of old) oldOnes.set(element, oldOnes.has(element) ? null : value);
  const nextOnes = new Map(next);
  if (nextOnes.size < next.length) throw new NoPlace(`duplicate entries for key ${duplicateOf(next)}`);
  const item = partSchema(schema, "k:");
  const shared = next.map(([element]) => element).filter((element) => oldOnes.has(element));
  let met = 0;
  const done = new Set<PathElement>();
  const result: unknown[] = [];
  const put = (element: PathElement, before: unknown, after: unknown) => {
    const merged = mergeTyped(before, after, item);
    if (merged !== undefined) result.push(merged);
    if (shared[met] === element) met++;
    if (after !== undefined) done.add(element);
  };
  let left = 0;
  let right = 0;
  while (left < old.length || right < next.length) {
    const [before, oldValue] = old[left] ?? [];
    const [after] = next[right] ?? [];
    if (before !== undefined && after !== undefined) {
      if (before === after) {
        put(after, oldOnes.get(after), nextOnes.get(after));
        left++;
        right++;
        continue;
      }
      if (nextOnes.has(before) && shared[met] !== undefined && shared[met] !== before) {
        left++;
        continue;
      }
    }
    if (before !== undefined) {
      if (!nextOnes.has(before)) {
        put(before, oldValue, undefined);
        left++;
        continue;
      }
      if (done.has(before)) left++;
    }
    if (after !== undefined) {
      put(after, oldOnes.get(after), nextOnes.get(after));
      right++;
    }
  }
  return result.length === 0 ? undefined : result;
}

function duplicateOf(parts: readonly (readonly [PathElement, unknown])[]): string {
  const seen = new Set<PathElement>();
  const found = parts.find(([element]) => seen.has(element) || !seen.add(element));
  return elementText(found?.[0] ?? "");
}

/** The value without the fields of a set. Undefined if nothing is left, and nothing in it was in the set's way. */
export function removeFields(value: unknown, set: FieldSet, schema: Schema): unknown {
  const shape = shapeOf(schema, value);
  if (shape === "leaf") return schema.type === "array" || isObject(value) || Array.isArray(value) ? undefined : value;
  const parts = partsOf(value, schema, shape);
  if (parts.length === 0) return undefined;
  let hadMatches = false;
  const kept: [PathElement, unknown][] = [];
  for (const [element, one] of parts) {
    if (set.members.has(element)) continue;
    const below = set.below(element);
    if (below.empty) kept.push([element, one]);
    else {
      hadMatches = true;
      const rest = removeFields(one, below, partSchema(schema, element));
      kept.push([element, rest ?? (Array.isArray(one) ? [] : isObject(one) ? {} : null)]);
    }
  }
  if (kept.length === 0 && !hadMatches) return undefined;
  if (shape === "list") return kept.map(([, one]) => one);
  const result: JsonObject = {};
  for (const [element, one] of kept) setField(result, fieldName(element) ?? "", one);
  return result;
}
