/** What a value, a field's name or an entry of a list takes beside its text. */
const EACH = 16;

/** About how many bytes a JSON value takes in memory: for limits, not for measurements. However deep it is nested. */
export function roughSize(value: unknown): number {
  let size = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    size += EACH;
    if (typeof next === "string") size += next.length;
    if (typeof next !== "object" || next === null) continue;
    if (Array.isArray(next)) for (const item of next) left.push(item);
    else
      for (const name in next) {
        size += EACH + name.length;
        left.push((next as Record<string, unknown>)[name]);
      }
  }
  return size;
}
