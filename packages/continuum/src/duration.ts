const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a Go-style duration, such as `1h30m`; undefined where the text is none. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 64 || !/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g))
    total += Number(amount) * (units[unit] ?? 0);
  return total;
}

/** The same for what a schema has checked already. Throws where it has not. */
export function durationMs(text: string): number {
  const duration = parseDuration(text);
  if (duration === undefined) throw new RangeError(`${JSON.stringify(text.slice(0, 64))} is no duration, such as 90s`);
  return duration;
}
