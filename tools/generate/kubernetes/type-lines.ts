import type { GoTypes } from "./go-types.ts";

/**
 * The text of the Go types' file, a line for each: its name, a tab, and the type below it, or its fields as
 * `[JSON name, type, Protocol Buffers number]`. Begins with `names` and goes on to whatever these refer to.
 */
export function typeLines(names: readonly string[], types: GoTypes): string {
  const lines = new Map<string, string>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (lines.has(name)) continue;
    const type = types.named(name);
    if (type === undefined) continue;
    const fields = typeof type === "string" ? type : type.map((one) => [one.json, one.type, one.number]);
    lines.set(name, JSON.stringify(fields));
    const texts = typeof type === "string" ? [type] : type.map((one) => one.type);
    for (const text of texts) waiting.push(...text.split(/[*[\]]/).filter((part) => part.includes(".")));
  }
  const sorted = [...lines].sort(([one], [other]) => (one < other ? -1 : 1));
  return `${sorted.map((line) => line.join("\t")).join("\n")}\n`;
}
