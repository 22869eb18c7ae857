import { InvalidArgumentError } from "commander";

const durations: Readonly<Record<string, number>> = { ms: 1, s: 1000 };
const rates: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  bit: 1 / 8,
  kbit: 1e3 / 8,
  Mbit: 1e6 / 8,
  Gbit: 1e9 / 8,
};

/** `50ms`, `1.5s`, `0`, in milliseconds. */
export function parseDuration(text: string): number {
  return parse(text, durations, "ms", "a duration such as 50ms or 1.5s");
}

/** `10Mbit`, `500kB` (a second), `unlimited`, in bytes a second. */
export function parseRate(text: string): number {
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  const rate = parse(text, rates, "B", "a rate a second such as 10Mbit or 500kB, or `unlimited`");
  if (rate < 1) throw new InvalidArgumentError("It must be at least one byte a second; `cut` stops all of them.");
  return rate;
}

/** A whole number from `low` up. */
export function parseCount(low: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (!Number.isInteger(count) || count < low) throw new InvalidArgumentError(`It must be a number from ${low} up.`);
    return count;
  };
}

/** `unlimited`, `10 Mbit/s`. */
export function formatRate(bytes: number): string {
  if (bytes === Number.POSITIVE_INFINITY) return "unlimited";
  const bits = bytes * 8;
  const [unit, size] = bits >= 1e9 ? ["Gbit/s", 1e9] : bits >= 1e6 ? ["Mbit/s", 1e6] : ["kbit/s", 1e3];
  return `${Number((bits / size).toFixed(2))} ${unit}`;
}

function parse(text: string, units: Readonly<Record<string, number>>, fallback: string, expected: string): number {
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text);
  const unit = units[match?.[2] || fallback];
  if (match === null || unit === undefined) throw new InvalidArgumentError(`It must be ${expected}.`);
  return Number(match[1]) * unit;
}
