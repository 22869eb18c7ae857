import type { Environment } from "@marcbachmann/cel-js";

class CelUrl {
  readonly url: URL;
  constructor(url: URL) {
    this.url = url;
  }
}

/** Functions of strings: those of CEL's extension, regular expressions, and URLs. */
export function registerTexts(environment: Environment): void {
  environment
    .registerFunction("string.charAt(int): string", (text: string, at: bigint) => charAt(text, at))
    .registerFunction("string.replace(string, string): string", (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    )
    .registerFunction(
      "string.replace(string, string, int): string",
      (text: string, from: string, to: string, most: bigint) => replaceSome(text, from, to, Number(most)),
    )
    .registerFunction("string.reverse(): string", (text: string) => [...text].reverse().join(""))
    .registerFunction(
      "string.find(string): string",
      (text: string, pattern: string) => expression(pattern).exec(text)?.[0] ?? "",
    )
    .registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) => all(text, pattern))
    .registerFunction("string.findAll(string, int): list<string>", (text: string, pattern: string, most: bigint) =>
      most < 0n ? all(text, pattern) : all(text, pattern).slice(0, Number(most)),
    )
    .registerFunction("string.format(list): string", (text: string, values: unknown[]) => format(text, values))
    .registerType("kubernetes.URL", { ctor: CelUrl, fields: {} })
    .registerFunction("isURL(string): bool", (text: string) => parseUrl(text) !== undefined)
    .registerFunction("url(string): kubernetes.URL", (text: string) => {
      const url = parseUrl(text);
      if (url === undefined)
        throw new Error(`URL parse error during conversion from string: parse "${text}": invalid URI for request`);
      return new CelUrl(url);
    })
    .registerFunction("kubernetes.URL.getScheme(): string", ({ url }: CelUrl) => url.protocol.slice(0, -1))
    .registerFunction("kubernetes.URL.getHost(): string", ({ url }: CelUrl) => url.host)
    .registerFunction("kubernetes.URL.getHostname(): string", ({ url }: CelUrl) => url.hostname.replace(/^\[|\]$/g, ""))
    .registerFunction("kubernetes.URL.getPort(): string", ({ url }: CelUrl) => url.port)
    .registerFunction("kubernetes.URL.getEscapedPath(): string", ({ url }: CelUrl) => url.pathname);
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

/** Go's syntax, as far as JavaScript's differs in what people write. */
export function expression(pattern: string, flags = ""): RegExp {
  return new RegExp(pattern.replaceAll("(?P<", "(?<").replaceAll("\\A", "^").replaceAll("\\z", "$"), `${flags}u`);
}

function all(text: string, pattern: string): string[] {
  return [...text.matchAll(expression(pattern, "g"))].map(([found]) => found);
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

function parseUrl(text: string): URL | undefined {
  try {
    // An absolute path counts, too.
    return text.startsWith("/") ? new URL(text, "file://") : new URL(text);
  } catch {
    return undefined;
  }
}
