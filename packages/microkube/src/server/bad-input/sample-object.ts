import type { Schema } from "../../schema/schema.ts";
import type { Choice } from "./choice.ts";
import { hostileNumber, hostileText, hostileValue } from "./hostile-values.ts";

/** Something that fits a schema, for the most part: what does not is where readers and validations are tried. */
export function sampleValue(schema: Schema, choice: Choice, depth = 0): unknown {
  if (choice.chance(0.02)) return hostileValue(choice);
  const { type, enum: allowed, properties, additionalProperties, items } = schema;
  if (allowed !== undefined && choice.chance(0.9)) return choice.one(allowed);
  if (properties !== undefined) return sampleFields(schema, choice, depth);
  if (additionalProperties !== undefined) {
    if (depth > 8) return {};
    const count = choice.below(3);
    return Object.fromEntries(
      Array.from({ length: count }, () => [hostileText(choice), sampleValue(additionalProperties, choice, depth + 1)]),
    );
  }
  if (items !== undefined) {
    if (depth > 8) return [];
    return Array.from({ length: choice.below(3) }, () => sampleValue(items, choice, depth + 1));
  }
  if (type === "integer" || type === "number") return choice.chance(0.7) ? choice.below(100) : hostileNumber(choice);
  if (type === "boolean") return choice.chance(0.5);
  if (type === "int-or-string") return choice.one<unknown>([1, "http", "50%", -1, hostileText(choice)]);
  if (type === "any" || type === undefined) return hostileValue(choice);
  if (type === "object") return {};
  return choice.chance(0.5) ? choice.one(["a", "web", "nginx:1", "tcp", "Always", "example.com"]) : hostileText(choice);
}

function sampleFields({ properties = {}, required = [] }: Schema, choice: Choice, depth: number): unknown {
  const share = Math.max(0.05, 0.5 - depth * 0.06);
  const value: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(properties)) {
    const isWanted = required.includes(name) ? choice.chance(0.95) : depth < 9 && choice.chance(share);
    if (!isWanted) continue;
    Object.defineProperty(value, name, {
      value: sampleValue(field, choice, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return value;
}

/** The same value with something else somewhere in it. */
export function mutatedValue(value: unknown, choice: Choice): unknown {
  if (typeof value !== "object" || value === null || choice.chance(0.15)) return hostileValue(choice);
  if (Array.isArray(value)) {
    if (value.length === 0 || choice.chance(0.2)) return [...value, hostileValue(choice)];
    const at = choice.below(value.length);
    return value.map((one, index) => (index === at ? mutatedValue(one, choice) : one));
  }
  const entries = Object.entries(value);
  if (entries.length === 0 || choice.chance(0.1)) {
    return Object.fromEntries([...entries, [hostileText(choice), hostileValue(choice)]]);
  }
  const at = choice.below(entries.length);
  if (choice.chance(0.1)) return Object.fromEntries(entries.toSpliced(at, 1));
  return Object.fromEntries(
    entries.map(([key, one], index) => [key, index === at ? mutatedValue(one, choice) : one] as const),
  );
}
