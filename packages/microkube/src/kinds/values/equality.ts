import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";

/** Whether two values mean the same: an empty list or map is none. */
export function sameMeaning(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) && isEmpty(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => sameMeaning(item, b[i]));
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const name in left) if (!sameMeaning(left[name], right[name])) return false;
  for (const name in right) if (!(name in left) && !isEmpty(right[name])) return false;
  return true;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== "object") return false;
  for (const name in value) if ((value as Record<string, unknown>)[name] !== undefined) return false;
  return true;
}

/** A map as Go writes it: in the order of its keys; null for none. */
export function byKey<T>(map: Readonly<Record<string, T>> | undefined): Record<string, T> | null {
  if (map === undefined) return null;
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const immutableText = "field is immutable";

export function immutable(next: unknown, old: unknown, path: string): FieldError[] {
  return sameMeaning(next, old) ? [] : [invalidField(path, next, immutableText)];
}
