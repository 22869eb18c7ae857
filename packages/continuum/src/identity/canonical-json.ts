import { NotCanonical } from "./errors.ts";

const DEEPEST = 64;

/**
 * The one text that equal JSON values have (as RFC 8785): keys sorted by UTF-16 units, no spaces, numbers as JavaScript
 * writes them. A property that is undefined is left out, as in JSON; what JSON cannot hold is refused.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > DEEPEST) throw new NotCanonical({ problem: `it is more than ${DEEPEST} levels deep` });
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return writeString(value);
  if (typeof value === "number" && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${Array.from(value, (item) => write(item, depth + 1)).join(",")}]`;
  if (isPlain(value)) return writeObject(value, depth);
  throw new NotCanonical({
    problem: `${typeof value === "object" ? "an object of a class" : String(value)} is no JSON`,
  });
}

function writeObject(value: Record<string, unknown>, depth: number): string {
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${writeString(key)}:${write(member, depth + 1)}`);
  }
  return `{${members.join(",")}}`;
}

function writeString(text: string): string {
  // Half a character has no bytes: two different texts would be written as the same ones.
  if (!text.isWellFormed()) throw new NotCanonical({ problem: "a text in it is not well formed" });
  return JSON.stringify(text);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
