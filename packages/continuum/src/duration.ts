/** Milliseconds of a duration such as `90s`, `1m30s`, `500ms`, as the schemas take them. */
export function durationMs(text: string): number {
  const units: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  let total = 0;
  for (const [, amount = "0", unit = ""] of text.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (units[unit] ?? 0);
  }
  return total;
}
