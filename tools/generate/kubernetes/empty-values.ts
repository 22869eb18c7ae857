import type { CompactSchema } from "./compact-schema.ts";
import type { GoField, GoType, GoTypes } from "./go-types.ts";

/**
 * Says of each field of a definition what Kubernetes' own types make of an empty value, which OpenAPI does not: whether
 * they leave it out (`omitempty`), or write it although nobody set it (`resources: {}`).
 */
export function addEmptyValues(schema: CompactSchema, type: GoType, types: GoTypes): void {
  if (typeof type === "string") return;
  for (const field of flatFields(type, types)) {
    const property = schema.properties?.[field.json];
    const empty = emptyValue(field, types);
    if (property !== undefined && empty !== undefined) property.empty = empty;
  }
}

/** With those of embedded structs in their place. */
export function flatFields(type: readonly GoField[], types: GoTypes): GoField[] {
  return type.flatMap((field) => {
    if (field.json !== "") return [field];
    const embedded = types.named(field.type);
    return embedded === undefined || typeof embedded === "string" ? [] : flatFields(embedded, types);
  });
}

function emptyValue(field: GoField, types: GoTypes): string | undefined {
  const type = types.underlying(field.type);
  if (type.startsWith("*")) return field.omitEmpty ? undefined : "null";
  if (type.startsWith("[]") || type.startsWith("map[")) return field.omitEmpty ? "dropped" : "null";
  if (/\.(Time|MicroTime|RawExtension)$/.test(type)) return field.omitZero ? "dropped" : "null";
  // Go never leaves out a struct for being empty.
  return type.includes(".") || !field.omitEmpty ? "written" : "dropped";
}
