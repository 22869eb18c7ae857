const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a value, the same for the same value; `collisions` gives another where the first is taken. */
export function templateHash(template: unknown, collisions?: number): string {
  let hash = fnv(canonical(template), 0x811c9dc5);
  if (collisions !== undefined) hash = fnv(`#${collisions}`, hash);
  return safeText(String(hash >>> 0));
}

/** Without vowels and digits that look like them: no words by accident. */
export function safeText(text: string): string {
  return Array.from(text, (char) => ALPHABET[char.charCodeAt(0) % ALPHABET.length]).join("");
}

function fnv(text: string, start: number): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash;
}

/** JSON with sorted keys, so that the order in which a client wrote fields does not matter. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`);
  return `{${fields.join(",")}}`;
}
