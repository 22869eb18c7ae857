import type { BenchmarkRecord } from "./record.ts";

/** The records of one file, under the name of their benchmark. */
export interface BenchmarkResults {
  readonly name: string;
  readonly records: readonly BenchmarkRecord[];
}

/** The page docs/benchmarks.md. */
export function renderReport(results: readonly BenchmarkResults[]): string {
  const sections = results.map(renderSection);
  return `# Benchmarks

Written by \`npm run generate\` from the files in [benchmarks](benchmarks). Take the figures anew with
\`npm run bench -- NAME --json docs/benchmarks/NAME.json\`. Every ratio was taken within one run on one machine, subject and
baseline in turn, medians of the runs given. Absolute values vary from machine to machine; compare ratios.

${sections.join("\n")}`;
}

function renderSection({ name, records }: BenchmarkResults): string {
  const missed = records.filter((record) => record.holds === false);
  const where = [...new Set(records.map((record) => `${record.machine}, ${record.date}`))].join("; ");
  const verdict =
    missed.length === 0
      ? "Every bound that was asked for holds."
      : `Missed: ${missed.map((record) => `${record.name} (${record.expected}, measured ${cell(record.ratio ?? record.value)})`).join("; ")}.`;
  const limits = records.map((record) => `- **${record.name}**: ${record.notShown}`);
  return `## ${name}

Measured on: ${where}. ${verdict}

${renderTable(records)}

What these figures do not show:

${limits.join("\n")}
`;
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
    cell(record.ratio),
    record.expected ?? "",
    record.holds === null ? "" : record.holds ? "yes" : "**no**",
    String(record.runs),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((text, i) => text.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function cell(value: number | null): string {
  return value === null ? "" : String(value);
}
