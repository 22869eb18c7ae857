/** What no two runs have in common, and a page shows an example of. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>"],
  [/\b\d+(\.\d+)? s\b/g, "<while>"],
  [/(?<=^|\s)(\d+d)?(\d+h)?(\d+m)?(\d+s)?(?=\s|$)(?<=\d[dhms])/g, "<age>"],
  [/\bc-[a-z2-7]{16}\b/g, "<contract>"],
  [/-[a-z2-7]{26}\b/g, "-<site>"],
  [/-[bcdf-hj-np-tv-z2-9]{6,10}-[bcdf-hj-np-tv-z2-9]{5}\b/g, "-<pod>"],
  [/\bfjord1\.\S+/g, "<token>"],
];

/**
 * Where what was printed differs from what a page shows; undefined where it does not. Widths of columns and what varies from run to run
 * (times, ages, ids) do not matter. `...` in a line stands for anything, and as a line for any lines.
 */
export function differenceOf(shown: readonly string[], printed: string): string | undefined {
  const lines = printed.split("\n").map(plain);
  while (lines.at(-1) === "") lines.pop();
  const pattern = shown.map((line) => (line.trim() === "..." ? undefined : plain(line)));
  while (pattern.at(-1) === "") pattern.pop();
  if (matches(pattern, lines)) return undefined;
  const text = (all: readonly (string | undefined)[]) => all.map((line) => `  ${line ?? "..."}`).join("\n");
  return `shown on the page (what varies replaced):\n${text(pattern)}\nprinted:\n${text(lines)}`;
}

function matches(pattern: readonly (string | undefined)[], lines: readonly string[]): boolean {
  if (pattern.length === 0) return lines.length === 0;
  const [first, ...rest] = pattern;
  if (first === undefined)
    return Array.from({ length: lines.length + 1 }, (_, at) => at).some((at) => matches(rest, lines.slice(at)));
  const [line, ...others] = lines;
  return line !== undefined && lineMatches(first, line) && matches(rest, others);
}

function lineMatches(shown: string, printed: string): boolean {
  const parts = shown.split("...").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(printed);
}

function plain(line: string): string {
  const replaced = VARYING.reduce((text, [pattern, word]) => text.replace(pattern, word), line);
  return replaced.replace(/\s+/g, " ").trimEnd();
}
