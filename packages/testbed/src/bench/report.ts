import type { BenchmarkRecord, FigureParts } from "./record.ts";

/** The records of one file, under the name of their benchmark. */
export interface BenchmarkResults {
  readonly name: string;
  readonly records: readonly BenchmarkRecord[];
}

/** More than so many are not named before the table, which marks them. */
const MOST_NAMED = 3;

/** The page docs/benchmarks.md. */
export function renderReport(results: readonly BenchmarkResults[]): string {
  const sections = results.map(renderSection);
  return `# Benchmarks

Written by \`npm run generate\` from the files in [benchmarks](benchmarks). Take the figures anew with
\`npm run bench -- NAME --json docs/benchmarks/NAME.json\`. Every ratio was taken within one run on one machine, subject and
baseline in turn, medians of the runs given, and in brackets between what the middle half of the runs' own ratios are. Absolute values vary from machine to machine; compare ratios.

${sections.join("\n")}`;
}

function renderSection({ name, records }: BenchmarkResults): string {
  const where = unique(records.map((record) => `${record.machine}, ${record.date}`)).join("; ");
  const settings = unique(records.flatMap((record) => record.settings ?? []));
  const paragraphs = [
    `## ${name}`,
    `Measured on: ${where}. ${verdict(records)}`,
    ...settings,
    renderTable(records),
    ...partTables(records.flatMap((record) => record.parts ?? [])),
    ...otherTables(records),
    "What these figures do not show:",
    limits(records).join("\n"),
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

function verdict(records: readonly BenchmarkRecord[]): string {
  const missed = records.filter((record) => record.holds === false);
  if (missed.length === 0) return "Every bound that was asked for holds.";
  const asked = records.filter((record) => record.holds !== null);
  if (missed.length > MOST_NAMED) return `Of ${asked.length} bounds ${missed.length} are missed, marked **no**.`;
  const named = missed.map(
    (record) => `${record.name} (${record.expected}, measured ${cell(record.ratio ?? record.value)})`,
  );
  return `Missed: ${named.join("; ")}.`;
}

/** Figures of which the same is to be said share a line. */
function limits(records: readonly BenchmarkRecord[]): string[] {
  const told = Map.groupBy(
    records.filter(({ notShown }) => notShown !== ""),
    ({ notShown }) => notShown,
  );
  return [...told].map(([notShown, those]) => `- ${those.map(({ name }) => `**${name}**`).join(", ")}: ${notShown}`);
}

function partTables(parts: readonly FigureParts[]): string[] {
  return [...Map.groupBy(parts, ({ table }) => table)].flatMap(([title, columns]) => {
    const names = unique(columns.flatMap(({ values }) => Object.keys(values)));
    const rows = names.map((name) => [name, ...columns.map(({ values }) => cell(values[name] ?? null))]);
    return [`${title}:`, table(["", ...columns.map(({ column }) => column)], rows)];
  });
}

/** Ours beside theirs: a ratio where we have one, else the value. */
function otherTables(records: readonly BenchmarkRecord[]): string[] {
  const told = records.filter(({ others }) => others !== undefined);
  return [...Map.groupBy(told, ({ others }) => others?.note ?? "")].flatMap(([note, those]) => {
    const names = unique(those.flatMap(({ others }) => Object.keys(others?.figures ?? {})));
    const rows = those.map(({ name, ratio, value, unit, others }) => [
      name,
      ratio === null ? `${value} ${unit}` : String(ratio),
      ...names.map((other) => others?.figures[other] ?? ""),
    ]);
    return [`${note}:`, table(["figure", "Fjord", ...names], rows)];
  });
}

/** The table that both the page and the terminal show. */
export function renderTable(records: readonly BenchmarkRecord[]): string {
  const head = ["figure", "value", "unit", "baseline", "against", "ratio", "expected", "holds", "runs"];
  const rows = records.map((record) => [
    record.name,
    cell(record.value),
    record.unit,
    cell(record.baseline),
    record.against ?? "",
    ratioCell(record),
    record.expected ?? "",
    record.holds === null ? "" : record.holds ? "yes" : "**no**",
    String(record.runs),
  ]);
  return table(head, rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((text, i) => text.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function ratioCell({ ratio, spread }: BenchmarkRecord): string {
  return spread ? `${cell(ratio)} (${spread.low} to ${spread.high})` : cell(ratio);
}

function cell(value: number | null): string {
  return value === null ? "" : String(value);
}
