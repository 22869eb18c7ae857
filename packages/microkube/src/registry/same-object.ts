import type { KubeObject } from "@fjord/base";

/** Whether two objects say the same; `undefined` is as if it were not there, and managers' times and the version do not count. */
export function sameObject(a: KubeObject, b: KubeObject): boolean {
  const { metadata: metaA, ...restA } = a;
  const { metadata: metaB, ...restB } = b;
  const { managedFields: managersA, resourceVersion: _a, ...ownA } = metaA;
  const { managedFields: managersB, resourceVersion: _b, ...ownB } = metaB;
  return sameValue(restA, restB) && sameValue(ownA, ownB) && sameManagers(managersA ?? [], managersB ?? []);
}

function sameManagers(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, index) => sameValue(withoutTime(one), withoutTime(b[index])));
}

function withoutTime(manager: unknown): unknown {
  const { time: _, ...rest } = manager as { time?: string };
  return rest;
}

export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  }
  if (Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const key of Object.keys(left)) if (!sameValue(left[key], right[key])) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
}
