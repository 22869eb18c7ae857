import type { JsonSchema } from "./custom-kind.ts";

const branches = ["allOf", "oneOf", "anyOf", "not"];

/**
 * A custom resource's schema as OpenAPI v2 can tell it, which knows less: where old clients would refuse what the schema
 * allows, it says nothing instead.
 */
export function toSwagger(schema: JsonSchema): JsonSchema {
  const { nullable, properties, items, additionalProperties, required, ...rest } = schema;
  const result: Record<string, unknown> = { ...rest };
  for (const name of branches) delete result[name];
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (nullable === true) delete result.type;
  const isOpen = nullable === true || preserves;
  if (properties !== undefined && !isOpen) result.properties = mapped(properties as Record<string, JsonSchema>);
  if (items !== undefined && !isOpen) result.items = toSwagger(items as JsonSchema);
  if (result.items === undefined && result.type === "array") delete result.type;
  if (preserves && result.type === "object") delete result.type;
  if (isSchema(additionalProperties)) result.additionalProperties = toSwagger(additionalProperties);
  else if (additionalProperties !== undefined) result.additionalProperties = additionalProperties;
  const left = stillRequired(required, properties, additionalProperties);
  if (left.length > 0) result.required = left;
  return result;
}

function mapped(properties: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, toSwagger(one)]));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}

/** Old clients do not take null for something. */
function stillRequired(required: unknown, properties: unknown, additionalProperties: unknown): string[] {
  if (!Array.isArray(required)) return [];
  if (isSchema(additionalProperties) && additionalProperties.nullable === true) return [];
  const known = (properties ?? {}) as Record<string, JsonSchema>;
  return required.filter((name) => known[name]?.nullable !== true);
}
