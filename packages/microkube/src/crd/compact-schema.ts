import type { Schema } from "../schema/schema.ts";
import type { JsonSchema } from "./json-schema.ts";

/** What the machinery (defaults, apply, CEL) needs of a custom resource's schema. `meta` is the schema of metadata. */
export function compactSchema(schema: JsonSchema | undefined, meta: Schema): Schema {
  const identity = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: meta } as const;
  if (schema === undefined) return { type: "object", properties: identity, preserveUnknown: true };
  const own = compact(schema, meta);
  return { ...own, type: "object", properties: { ...own.properties, ...identity } };
}

function compact(schema: JsonSchema, meta: Schema): Schema {
  const { properties, additionalProperties, items, nullable, required } = schema;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  const fields = properties && Object.entries(properties).map(([name, one]) => [name, compact(one, meta)] as const);
  const embedded: Record<string, Schema> = isEmbedded
    ? { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: meta }
    : {};
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"];
  return {
    ...typeOf(schema),
    ...((fields !== undefined || isEmbedded) && { properties: { ...Object.fromEntries(fields ?? []), ...embedded } }),
    ...(typeof additionalProperties === "object" && { additionalProperties: compact(additionalProperties, meta) }),
    ...(items && { items: compact(items, meta) }),
    ...(required && { required }),
    ...(schema.default !== undefined && { default: schema.default }),
    ...(nullable && { nullable }),
    ...(listType && { listType }),
    ...(keys && { listMapKeys: keys }),
    ...(schema["x-kubernetes-map-type"] === "atomic" && { atomic: true }),
    ...(schema["x-kubernetes-preserve-unknown-fields"] && { preserveUnknown: true }),
  };
}

function typeOf(schema: JsonSchema): Pick<Schema, "type" | "format"> {
  if (schema["x-kubernetes-int-or-string"]) return { type: "int-or-string" };
  const { type, format } = schema;
  const known = ["object", "array", "string", "integer", "number", "boolean"];
  if (type === undefined || !known.includes(type)) return { type: "any" };
  return { type: type as "object", ...(format && { format }) };
}
