/** A copy of a JSON value: several times quicker than `structuredClone`, which is for more than that. */
export function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    const one = value[key];
    // A key of that name would be no key of the copy's own.
    if (key === "__proto__") Object.defineProperty(copy, key, { value: copyOf(one), enumerable: true, writable: true });
    else copy[key] = typeof one === "object" ? copyOf(one) : one;
  }
  return copy as T;
}
