import type { WrittenKeys } from "../schema/json-text.ts";
import type { Schema } from "../schema/schema.ts";

export interface Pruned {
  readonly value: unknown;
  /** What a strict reader would not take: `unknown field "spec.wrong"`, `duplicate field "spec.twice"`. */
  readonly strict: readonly string[];
}

/**
 * A copy without what the schema does not know, and without nulls where null may not be. `keys` tells of what was written
 * twice.
 */
export function prune(value: unknown, schema: Schema, keys?: WrittenKeys): Pruned {
  const pruner = new Pruner(keys);
  return { value: pruner.prune(value, schema, ""), strict: [...pruner.strict].sort() };
}

const FREE: Schema = { type: "any", preserveUnknown: true };

class Pruner {
  readonly strict = new Set<string>();
  readonly #keys: WrittenKeys | undefined;

  constructor(keys: WrittenKeys | undefined) {
    this.#keys = keys;
  }

  prune(value: unknown, schema: Schema, path: string): unknown {
    if (Array.isArray(value)) {
      const { items = FREE } = schema;
      return value.map((one, index) => this.prune(one, items, `${path}[${index}]`));
    }
    if (typeof value !== "object" || value === null) return value;
    const result: Record<string, unknown> = {};
    this.#tellDuplicates(value, path);
    for (const [name, one] of Object.entries(value)) {
      const at = path === "" ? name : `${path}.${name}`;
      const known = fieldOf(schema, name);
      if (known === undefined) this.strict.add(`unknown field ${JSON.stringify(at)}`);
      // A default takes its place, or nothing does.
      else if (one !== null || known.nullable || known.type === "any") define(result, name, this.prune(one, known, at));
    }
    return result;
  }

  #tellDuplicates(value: object, path: string): void {
    const written = this.#keys?.get(value);
    if (written === undefined) return;
    for (const [index, name] of written.entries()) {
      if (written.indexOf(name) === index) continue;
      this.strict.add(`duplicate field ${JSON.stringify(path === "" ? name : `${path}.${name}`)}`);
    }
  }
}

function fieldOf(schema: Schema, name: string): Schema | undefined {
  const { properties, additionalProperties, preserveUnknown, type } = schema;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  if (additionalProperties !== undefined) return additionalProperties;
  return preserveUnknown || (properties === undefined && type === "any") ? FREE : undefined;
}

function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
