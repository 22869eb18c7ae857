import type { Schema } from "../schema/schema.ts";
import { canonicalQuantity } from "./values/quantity.ts";

/** Writes every quantity of an object in its canonical form, in place, as reading and writing it in Kubernetes does. */
export class QuantityForms {
  /** Whether quantities are in what a schema describes: most of an object need not be looked at. */
  readonly #has = new Map<Schema, boolean>();

  canonicalize(value: unknown, schema: Schema): void {
    if (typeof value !== "object" || value === null || !this.#holds(schema)) return;
    if (Array.isArray(value)) {
      if (schema.items !== undefined) this.#each(value, value.keys(), () => schema.items);
      return;
    }
    const names = Object.keys(value);
    this.#each(value, names, (name) => schema.properties?.[name] ?? schema.additionalProperties);
  }

  #each<Key extends string | number>(
    holder: object,
    keys: Iterable<Key>,
    schemaOf: (key: Key) => Schema | undefined,
  ): void {
    const values = holder as Record<Key, unknown>;
    for (const key of keys) {
      const schema = schemaOf(key);
      if (schema === undefined) continue;
      const value = values[key];
      if (schema.format !== "quantity") this.canonicalize(value, schema);
      else if (typeof value === "string" || typeof value === "number") values[key] = canonicalQuantity(value);
    }
  }

  #holds(schema: Schema): boolean {
    const known = this.#has.get(schema);
    if (known !== undefined) return known;
    // A schema that refers to itself holds what its other parts hold.
    this.#has.set(schema, false);
    const parts = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
    const holds = schema.format === "quantity" || parts.some((part) => part !== undefined && this.#holds(part));
    this.#has.set(schema, holds);
    return holds;
  }
}
