import type { Schema } from "../schema/schema.ts";
import { fieldElement, type PathElement, pathText } from "./field-set.ts";
import { goText, isObject } from "./json-value.ts";
import { fieldSchema, itemSchema, NoPlace, partsOf, shapeOf } from "./shape.ts";

/** What is wrong with a configuration, and where, in the server's words. */
export class NotTyped extends Error {}

/** Checks that a configuration fits its schema, as far as merging needs that. Throws `NotTyped` for the first thing. */
export function checkConfig(value: unknown, schema: Schema, path: readonly PathElement[] = []): void {
  const wrong = (why: string) => new NotTyped(`${pathText(path)}: ${why}`);
  if (value === null || value === undefined) return;
  if (schema.type === "array") checkList(value, schema, path);
  else if (shapeOf(schema, value) === "map" || schema.type === "object") checkMap(value, schema, path);
  else {
    const complaint = scalarComplaint(value, schema);
    if (complaint !== undefined) throw wrong(complaint);
  }
}

function checkMap(value: unknown, schema: Schema, path: readonly PathElement[]): void {
  if (!isObject(value)) throw new NotTyped(`${pathText(path)}: expected map, got &{${goText(value)}}`);
  for (const [name, one] of Object.entries(value)) {
    const below = [...path, fieldElement(name)];
    const part = fieldSchema(schema, name);
    if (part === undefined) throw new NotTyped(`${pathText(below)}: field not declared in schema`);
    checkConfig(one, part, below);
  }
}

function checkList(value: unknown, schema: Schema, path: readonly PathElement[]): void {
  if (!Array.isArray(value)) throw new NotTyped(`${pathText(path)}: expected list, got &{${goText(value)}}`);
  if (shapeOf(schema, value) === "leaf") {
    for (const [index, one] of value.entries()) checkConfig(one, itemSchema(schema), [...path, `i:${index}`]);
    return;
  }
  const seen = new Set<PathElement>();
  for (const [element, one] of placed(value, schema, path)) {
    if (seen.has(element)) {
      throw new NotTyped(`${pathText(path)}: duplicate entries for key ${pathText([element])}`);
    }
    seen.add(element);
    checkConfig(one, itemSchema(schema), [...path, element]);
  }
}

function placed(value: unknown, schema: Schema, path: readonly PathElement[]): (readonly [PathElement, unknown])[] {
  try {
    return partsOf(value, schema, "list");
  } catch (error) {
    if (error instanceof NoPlace) throw new NotTyped(`${pathText(path)}: ${error.message}`);
    throw error;
  }
}

function scalarComplaint(value: unknown, { type, format }: Schema): string | undefined {
  switch (type) {
    case "string":
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goText(value)}}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got &{${goText(value)}}`;
    case "integer":
    case "number":
      return typeof value === "number" ? undefined : `expected numeric (int or float), got ${goTypeOf(value)}`;
    case "int-or-string":
      if (typeof value !== "object" || format !== "quantity") return undefined;
      return `expected any scalar, got &{${goText(value)}}`;
    default:
      return undefined;
  }
}

function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isObject(value)) return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : typeof value;
}
