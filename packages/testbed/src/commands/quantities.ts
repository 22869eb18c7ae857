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
  return parse(text, durations, "a duration such as 50ms or 1.5s");
}

/** `10Mbit`, `500kB` (a second), `unlimited`, in bytes a second. */
export function parseRate(text: string): number {
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  const rate = parse(text, rates, "a rate a second such as 10Mbit or 500kB, or `unlimited`");
  if (rate < 1) throw new InvalidArgumentError("It must be at least one byte a second; `cut` stops all of them.");
  return rate;
}

/** A whole number from `low` up, or up to `high`. */
export function parseCount(low: number, high = Number.POSITIVE_INFINITY): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= low && count <= high) return count;
    const range = high === Number.POSITIVE_INFINITY ? `from ${low} up` : `from ${low} to ${high}`;
    throw new InvalidArgumentError(`It must be a number ${range}.`);
  };
}

/** `512 B`, `36.2 kB`, `510 MB`, in steps of a thousand. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** step;
  return `${Number(value.toFixed(value < 100 && step > 0 ? 1 : 0))} ${units[step]}`;
}

/** `unlimited`, `10 Mbit/s`. */
export function formatRate(bytes: number): string {
  if (bytes === Number.POSITIVE_INFINITY) return "unlimited";
  const bits = bytes * 8;
  const [unit, size] = bits >= 1e9 ? ["Gbit/s", 1e9] : bits >= 1e6 ? ["Mbit/s", 1e6] : ["kbit/s", 1e3];
  return `${Number((bits / size).toFixed(2))} ${unit}`;
}

/** A number needs its unit, because any guess is wrong for somebody; only nothing is nothing in all of them. */
function parse(text: string, units: Readonly<Record<string, number>>, expected: string): number {
  const [, number, name = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const unit = name === "" && Number(number) === 0 ? 0 : units[name];
  if (number !== undefined && unit !== undefined) return Number(number) * unit;
  const why = number !== undefined && name === "" ? "It has no unit: it" : "It";
  throw new InvalidArgumentError(`${why} must be ${expected}; the units are ${Object.keys(units).join(", ")}.`);
}
