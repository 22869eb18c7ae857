import type { Schema } from "../schema/schema.ts";
import { budget } from "./budget.ts";

/**
 * A JSON value as CEL sees it: whole numbers are integers where the schema says so, and where nothing says anything; times
 * and durations are what they are by their format.
 */
export function celValue(value: unknown, schema: Schema = {}): unknown {
  budget.spend(typeof value === "string" ? 1 + value.length / 100 : 1);
  if (Array.isArray(value)) return value.map((one) => celValue(one, schema.items));
  if (typeof value === "object" && value !== null) {
    const { properties = {}, additionalProperties } = schema;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
        // Keys of maps stay as they are: they are asked for by an index.
        return [property === undefined ? key : celName(key), celValue(one, property ?? additionalProperties)];
      }),
    );
  }
  if (typeof value === "number") {
    const isWhole = Number.isInteger(value);
    return isWhole && schema.type !== "number" ? BigInt(value) : value;
  }
  if (typeof value === "string" && schema.type === "string") {
    if (schema.format === "date-time") return new Date(value);
    if (schema.format === "byte") return Uint8Array.from(Buffer.from(value, "base64"));
  }
  return value;
}

const RESERVED = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** Declared names that are no identifiers of CEL are written otherwise there: `a-b` is `a__dash__b`. */
export function celName(name: string): string {
  if (RESERVED.has(name)) return `__${name}__`;
  if (/^[a-zA-Z_]\w*$/.test(name) && !name.includes("__")) return name;
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}
