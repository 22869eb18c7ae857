import { shownInLine } from "./terminal-text.ts";

/** Rows with aligned columns, as kubectl prints them: three spaces between, no line ends in spaces. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headers, ...rows.map((row) => row.map(shownInLine))];
  const widths = headers.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd();
  return `${all.map(line).join("\n")}\n`;
}

/** What kubectl prints where there is nothing to print. */
export function cell(value: string | number | undefined): string {
  return value === undefined || value === "" ? "<none>" : String(value);
}

/** How long ago something was: `5s`, `3m20s`, `2h`, `4d`. */
export function age(since: string | undefined, now: number): string {
  if (since === undefined) return "<unknown>";
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 600) return `${Math.floor(seconds / 60)}m${seconds % 60 === 0 ? "" : `${seconds % 60}s`}`;
  if (seconds < 3 * 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
