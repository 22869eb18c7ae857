const MOST_VALUES = 4_000;
const MOST_CHARACTERS = 128 * 1024;
const DEEPEST = 24;

/**
 * JSON from another site, if it is of a size that an object may have: undefined where it is too large or too deep. The API's own
 * schema says whether it makes sense.
 */
export function checkedJson(value: unknown): unknown {
  const left = { values: MOST_VALUES, characters: MOST_CHARACTERS };
  return fits(value, left, 0) ? value : undefined;
}

function fits(value: unknown, left: { values: number; characters: number }, depth: number): boolean {
  if (--left.values < 0 || depth > DEEPEST) return false;
  if (typeof value === "string") return takes(value, left);
  if (typeof value !== "object" || value === null) return value !== undefined;
  if (Array.isArray(value)) return value.every((each) => fits(each, left, depth + 1));
  return Object.entries(value).every(([name, each]) => takes(name, left) && fits(each, left, depth + 1));
}

function takes(text: string, left: { characters: number }): boolean {
  left.characters -= text.length;
  return left.characters >= 0 && text.isWellFormed();
}
