import type { Schema } from "../schema/schema.ts";
import { FieldSet, fieldElement, fieldName, type PathElement } from "./field-set.ts";
import { equal, getField, isObject, type JsonObject } from "./json-value.ts";
import { fieldSchema, isNamed, itemSchema, partsOf, type Shape, shapeOf } from "./shape.ts";

/** The schema of a field or element; what the schema does not know is one value. */
export function partSchema(schema: Schema, element: PathElement): Schema {
  const name = fieldName(element);
  return name === undefined ? itemSchema(schema) : (fieldSchema(schema, name) ?? { type: "any", atomic: true });
}

/** The fields that a value has. */
export function toFieldSet(value: unknown, schema: Schema): FieldSet {
  const set = new FieldSet();
  collect(value, schema, [], set);
  return set;
}

/** `path` is one array for all of it: where the walk is now. */
function collect(value: unknown, schema: Schema, path: PathElement[], set: FieldSet): void {
  const shape = shapeOf(schema, value);
  if (shape === "leaf") {
    set.insert(path);
    return;
  }
  const parts = partsOf(value, schema, shape);
  const counts = countOf(parts);
  for (const [element, one] of parts) {
    path.push(element);
    if ((counts.get(element) ?? 0) > 1) set.insert(path);
    else {
      collect(one, partSchema(schema, element), path, set);
      if (shape === "list" || isLoose(element, one, schema)) set.insert(path);
    }
    path.pop();
  }
}

function countOf(parts: readonly (readonly [PathElement, unknown])[]): Map<PathElement, number> {
  const counts = new Map<PathElement, number>();
  for (const [element] of parts) counts.set(element, (counts.get(element) ?? 0) + 1);
  return counts;
}

/** A field that is owned for itself, too: an empty one, or one that is not named in the schema. */
function isLoose(element: PathElement, value: unknown, schema: Schema): boolean {
  if (value === null || (isObject(value) && Object.keys(value).length === 0)) return true;
  return !isNamed(schema, fieldName(element) ?? "");
}

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** What makes one value the other. Undefined is nothing; null is a value. */
export function compare(before: unknown, after: unknown, schema: Schema): Comparison {
  const comparison = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  compareAt(before, after, schema, [], comparison);
  return comparison;
}

function compareAt(before: unknown, after: unknown, schema: Schema, path: PathElement[], to: Comparison): void {
  const shape = shapeOf(schema, before, after);
  const isOne = shape === "leaf" || (isEmpty(before) && isEmpty(after));
  if (before === undefined) to.added.insert(path);
  else if (after === undefined) to.removed.insert(path);
  if (!isOne) compareParts(before, after, schema, shape, path, to);
  else if (before !== undefined && after !== undefined && !equal(before, after)) to.modified.insert(path);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function compareParts(
  before: unknown,
  after: unknown,
  schema: Schema,
  shape: Shape,
  path: PathElement[],
  to: Comparison,
): void {
  if (before !== undefined && after !== undefined && equal(before, after)) return;
  if (shape === "map") {
    compareFields(isObject(before) ? before : {}, isObject(after) ? after : {}, schema, path, to);
    return;
  }
  const old = grouped(partsOf(before, schema, shape));
  const next = grouped(partsOf(after, schema, shape));
  for (const element of new Set([...old.keys(), ...next.keys()])) {
    const olds = old.get(element) ?? [];
    const nexts = next.get(element) ?? [];
    path.push(element);
    const part = partSchema(schema, element);
    if (olds.length <= 1 && nexts.length <= 1) compareAt(olds[0], nexts[0], part, path, to);
    else if (olds.length >= 2 && nexts.length >= 2) {
      if (!equal(olds, nexts)) to.modified.insert(path);
    } else if (olds.length >= 2) {
      if (nexts.length > 0) compareAt(undefined, nexts[0], part, path, to);
      to.removed.insert(path);
    } else {
      if (olds.length > 0) compareAt(olds[0], undefined, part, path, to);
      to.added.insert(path);
    }
    path.pop();
  }
}

function compareFields(
  before: JsonObject,
  after: JsonObject,
  schema: Schema,
  path: PathElement[],
  to: Comparison,
): void {
  for (const name of Object.keys(before)) compareField(name, before[name], getField(after, name));
  for (const name of Object.keys(after)) if (!Object.hasOwn(before, name)) compareField(name, undefined, after[name]);

  function compareField(name: string, old: unknown, next: unknown): void {
    const element = fieldElement(name);
    path.push(element);
    if (old !== undefined || next !== undefined) compareAt(old, next, partSchema(schema, element), path, to);
    path.pop();
  }
}

function grouped(parts: readonly (readonly [PathElement, unknown])[]): Map<PathElement, unknown[]> {
  const groups = new Map<PathElement, unknown[]>();
  for (const [element, value] of parts) {
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [value]);
    else group.push(value);
  }
  return groups;
}

/** The set with each named field a member that something below it is in. */
export function withNamedFields(set: FieldSet, schema: Schema): FieldSet {
  const named = [...set.children.keys()].filter((element) => {
    const name = fieldName(element);
    return name !== undefined && isNamed(schema, name);
  });
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of set.children)
    children.set(element, withNamedFields(child, partSchema(schema, element)));
  return new FieldSet(new Set([...set.members, ...named]), children);
}
