import type { Schema } from "./schema.ts";

/**
 * Fills in the schema's defaults, in place: for what is not there, and for what is null where null may not be. What is
 * filled in gets the defaults below it, too.
 */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (typeof value !== "object" || value === null || !mayFill(schema)) return;
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const one of value) applyDefaults(one, schema.items);
    return;
  }
  const object = value as Record<string, unknown>;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (
      property.default !== undefined &&
      (object[name] === undefined || (object[name] === null && !property.nullable))
    ) {
      object[name] = structuredClone(property.default);
    }
    applyDefaults(object[name], property);
  }
  if (schema.additionalProperties === undefined) return;
  const { additionalProperties } = schema;
  for (const [name, one] of Object.entries(object)) {
    if (schema.properties?.[name] !== undefined) continue;
    if (one === null && additionalProperties.default !== undefined && !additionalProperties.nullable) {
      object[name] = structuredClone(additionalProperties.default);
    }
    applyDefaults(object[name], additionalProperties);
  }
}

const filling = new WeakMap<Schema, boolean>();

/** Whether there is a default anywhere in a schema: most have none, and are not walked through. */
function mayFill(schema: Schema): boolean {
  const known = filling.get(schema);
  if (known !== undefined) return known;
  // A schema that holds itself: what is elsewhere in it decides.
  filling.set(schema, false);
  const { properties = {}, items, additionalProperties } = schema;
  const parts = [
    ...Object.values(properties),
    ...(items ? [items] : []),
    ...(additionalProperties ? [additionalProperties] : []),
  ];
  const found = parts.some((part) => part.default !== undefined || mayFill(part));
  filling.set(schema, found);
  return found;
}
