import type { Terms } from "../peering/protocol.ts";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a Go-style duration, such as `1h30m`; undefined where the text is none. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d{1,6}(\.\d{1,3})?(ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit = ""] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) sum += Number(amount) * (units[unit] ?? 0);
  return sum;
}

/** When a contract begins and ends, and from when on it is to be renewed: after two thirds of its lifetime. */
export interface Lifetime {
  readonly begins: number;
  readonly renewable: number;
  readonly ends: number;
}

export function lifetimeOf(terms: Pick<Terms, "notBefore" | "notAfter">): Lifetime {
  const begins = Date.parse(terms.notBefore);
  const ends = Date.parse(terms.notAfter);
  return { begins, renewable: begins + ((ends - begins) * 2) / 3, ends };
}
