import type { StructuralSchema } from "./structural.ts";

/** A copy of `value` with the defaults of the schema where something is left out, as the API server would fill them in. */
export function fillDefaults(schema: StructuralSchema, value: unknown): unknown {
  if (value === undefined) {
    return schema.default === undefined ? undefined : fillDefaults({ ...schema, default: undefined }, schema.default);
  }
  if (Array.isArray(value)) return value.map((item) => (schema.items ? fillDefaults(schema.items, item) : item));
  if (typeof value !== "object" || value === null) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, given] of Object.entries(filled)) {
    const child = schema.properties?.[name] ?? schema.additionalProperties;
    if (child) filled[name] = fillDefaults(child, given);
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (filled[name] !== undefined) continue;
    const missing = fillDefaults(child, undefined);
    if (missing !== undefined) filled[name] = missing;
  }
  return filled;
}
