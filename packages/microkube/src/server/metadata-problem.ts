import type { Schema } from "../schema/index.ts";

const goTypes: Readonly<Record<string, string>> = {
  string: "string",
  integer: "int64",
  boolean: "bool",
  object: "v1.ObjectMeta",
  array: "[]string",
};

/** What keeps an object's metadata from being read as such, in the words of Go's reader; undefined: nothing does. */
export function metadataProblem(metadata: unknown, schema: Schema | undefined): string | undefined {
  return problemAt(metadata, schema ?? {}, "metadata");
}

function problemAt(value: unknown, schema: Schema, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const { properties, additionalProperties, items, preserveUnknown } = schema;
  const type = schema.type ?? (properties || additionalProperties ? "object" : items ? "array" : "any");
  if (type === "any" || preserveUnknown) return undefined;
  const actual = Array.isArray(value) ? "array" : typeof value;
  const isOfType = type === "integer" ? Number.isSafeInteger(value) : actual === type;
  if (!isOfType) {
    const named = actual === "boolean" ? "bool" : actual;
    return `json: cannot unmarshal ${named} into Go struct field ObjectMeta.${path} of type ${goTypes[type] ?? type}`;
  }
  if (Array.isArray(value)) return first(value, (one) => problemAt(one, items ?? {}, path));
  if (typeof value !== "object") return undefined;
  return first(Object.entries(value), ([name, one]) => {
    const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    return problemAt(one, known ?? {}, additionalProperties === undefined ? `${path}.${name}` : path);
  });
}

function first<T>(items: readonly T[], problem: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = problem(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
