import type { Schema } from "./schema.ts";
import { isLeftOut, zeroOf } from "./typed-value.ts";

/**
 * Gives an object of a built-in kind the form in which Kubernetes' own types write it, in place: empty fields are left
 * out (`args: []`) or there (`resources: {}`, `status: {}`) as these types have it. For whoever is about to keep an
 * object, when defaults are filled in and nothing more is changed.
 */
export function settleEmptyFields(value: unknown, schema: Schema): void {
  if (typeof value !== "object" || value === null || schema.preserveUnknown) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined && holdsFields(items)) for (const one of value) settleEmptyFields(one, items);
    return;
  }
  const object = value as Record<string, unknown>;
  const { properties, additionalProperties } = schema;
  if (properties !== undefined) settleFields(object, properties);
  else if (additionalProperties !== undefined && holdsFields(additionalProperties)) {
    for (const one of Object.values(object)) settleEmptyFields(one, additionalProperties);
  }
}

function settleFields(object: Record<string, unknown>, properties: NonNullable<Schema["properties"]>): void {
  for (const name of Object.keys(object)) {
    const schema = properties[name];
    if (schema === undefined) continue;
    const value = object[name];
    if (value === undefined || value === null) delete object[name];
    else if (isLeftOut(value, schema)) delete object[name];
    else settleEmptyFields(value, schema);
  }
  for (const [name, schema] of alwaysThere(properties)) {
    if (object[name] !== undefined) continue;
    object[name] = schema.empty === "null" ? null : zeroOf(schema);
    settleEmptyFields(object[name], schema);
  }
}

const holdsFields = ({ properties, additionalProperties, items }: Schema): boolean =>
  (properties ?? additionalProperties ?? items) !== undefined;

const known = new WeakMap<object, readonly [string, Schema][]>();

/** The fields of a struct that are written even if nobody set them. */
function alwaysThere(properties: NonNullable<Schema["properties"]>): readonly [string, Schema][] {
  const before = known.get(properties);
  if (before !== undefined) return before;
  const fields = Object.entries(properties).filter(([, { empty }]) => empty === "written" || empty === "null");
  known.set(properties, fields);
  return fields;
}

/**
 * Nearly the same, of an object that stays as it is: the result shares with it whatever was in that form already. An
 * empty list that will be null is still one here: whoever sent it is told of as its manager.
 */
export function withEmptyFieldsSettled(value: unknown, schema: Schema): unknown {
  if (typeof value !== "object" || value === null || schema.preserveUnknown || !holdsFields(schema)) return value;
  const { properties, additionalProperties, items } = schema;
  if (Array.isArray(value)) return items === undefined || !holdsFields(items) ? value : settledList(value, items);
  if (properties !== undefined) return settledFields(value as Record<string, unknown>, properties);
  if (additionalProperties === undefined || !holdsFields(additionalProperties)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withEmptyFieldsSettled(one, additionalProperties)]),
  );
}

function settledList(list: readonly unknown[], items: Schema): readonly unknown[] {
  const settled = list.map((one) => withEmptyFieldsSettled(one, items));
  return settled.every((one, index) => one === list[index]) ? list : settled;
}

function settledFields(
  object: Record<string, unknown>,
  properties: NonNullable<Schema["properties"]>,
): Record<string, unknown> {
  let result = object;
  const own = () => {
    if (result === object) result = { ...object };
    return result;
  };
  for (const name of Object.keys(object)) {
    const schema = properties[name];
    if (schema === undefined) continue;
    const value = object[name];
    if (
      value === undefined ||
      (value === null && schema.empty !== "null") ||
      (value !== null && schema.empty === "dropped" && isLeftOut(value, schema))
    ) {
      delete own()[name];
      continue;
    }
    const settled = withEmptyFieldsSettled(value, schema);
    if (settled !== value) own()[name] = settled;
  }
  for (const [name, schema] of alwaysThere(properties)) {
    if (result[name] !== undefined) continue;
    own()[name] = schema.empty === "null" ? null : withEmptyFieldsSettled(zeroOf(schema), schema);
  }
  return result;
}
