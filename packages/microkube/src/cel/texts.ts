import type { Environment } from "@marcbachmann/cel-js";
import { budget } from "./budget.ts";
import { Expression } from "./expression/expression.ts";
import { registerNamespace } from "./namespace.ts";

/** What `matches` is called where it is run: the library's own would use JavaScript's expressions. */
export const MATCHES = "matchesExpression";

/** Functions of strings: those of CEL's extension, and regular expressions. */
export function registerTexts(environment: Environment): void {
  environment
    .registerFunction("string.charAt(int): string", (text: string, at: bigint) => charAt(text, at))
    .registerFunction("string.replace(string, string): string", (text: string, from: string, to: string) =>
      within(
        text,
        text.replaceAll(from, () => to),
      ),
    )
    .registerFunction(
      "string.replace(string, string, int): string",
      (text: string, from: string, to: string, most: bigint) => within(text, replaceSome(text, from, to, Number(most))),
    )
    .registerFunction("string.reverse(): string", (text: string) => [...text].reverse().join(""))
    .registerFunction(
      "string.find(string): string",
      (text: string, pattern: string) => expressionFor(text, pattern).find(text) ?? "",
    )
    .registerFunction("matches(string, string): bool", (text: string, pattern: string) =>
      expressionFor(text, pattern).test(text),
    )
    .registerFunction(`string.${MATCHES}(string): bool`, (text: string, pattern: string) =>
      expressionFor(text, pattern).test(text),
    )
    .registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) =>
      expressionFor(text, pattern).findAll(text),
    )
    .registerFunction("string.findAll(string, int): list<string>", (text: string, pattern: string, most: bigint) =>
      expressionFor(text, pattern).findAll(text, most < 0n ? undefined : Number(most)),
    )
    .registerFunction("string.format(list): string", (text: string, values: unknown[]) =>
      within(text, format(text, values)),
    );
  registerNamespace(environment, "strings", { "quote(string): string": quoted });
}

function charAt(text: string, at: bigint): string {
  const characters = [...text];
  if (at < 0n || at > BigInt(characters.length)) throw new Error(`index out of range: ${at}`);
  return characters[Number(at)] ?? "";
}

function replaceSome(text: string, from: string, to: string, most: number): string {
  if (most < 0) return text.replaceAll(from, () => to);
  let left = most;
  return text.replaceAll(from, (found) => (left-- > 0 ? to : found));
}

const expressions = new Map<string, Expression>();
const MOST_EXPRESSIONS = 500;

/** One of Go's regular expressions; read once, however often it is asked for. Throws where it cannot be read. */
export function expression(pattern: string): Expression {
  const known = expressions.get(pattern);
  if (known !== undefined) return known;
  const made = new Expression(pattern);
  if (expressions.size >= MOST_EXPRESSIONS) expressions.delete(expressions.keys().next().value ?? "");
  expressions.set(pattern, made);
  return made;
}

/** Charged for by the text that it is for. */
function expressionFor(text: string, pattern: string): Expression {
  budget.spend(1 + text.length * pattern.length * 0.1);
  return expression(pattern);
}

/** A text that was made of another one. */
function within(from: string, made: string): string {
  budget.spend(1 + (from.length + made.length) / 10);
  return made;
}

/** `%s`, `%d`, `%f` with precision, `%e`, `%x`, `%X`, `%o`, `%b`, `%%`. */
function format(text: string, values: readonly unknown[]): string {
  let index = 0;
  return text.replaceAll(/%(?:\.(\d+))?([sdfexXob%])/g, (_, precision: string | undefined, verb: string) => {
    if (verb === "%") return "%";
    if (index >= values.length) throw new Error("index out of range");
    const value = values[index++];
    if (verb === "s") return shown(value);
    if (verb === "f") return Number(value).toFixed(precision === undefined ? 6 : Number(precision));
    if (verb === "e") return Number(value).toExponential(precision === undefined ? 6 : Number(precision));
    if (verb === "d") return String(value);
    const digits =
      typeof value === "string"
        ? Buffer.from(value).toString("hex")
        : BigInt(value as bigint).toString({ x: 16, X: 16, o: 8, b: 2 }[verb] ?? 10);
    return verb === "X" ? digits.toUpperCase() : digits;
  });
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z");
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([key, one]) => `${key}: ${shown(one)}`)
      .join(", ")}}`;
  }
  return String(value);
}

/** As a text of CEL: what cannot be seen is written out. */
function quoted(text: string): string {
  const known: Record<string, string> = {
    "\u0007": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
  };
  return within(text, `"${[...text].map((one) => known[one] ?? one).join("")}"`);
}
