import { InvalidValue } from "../errors.ts";

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `1h30m`. */
export function parseDuration(option: string, value: string): number {
  const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([text]) => text).join("") !== value)
    throw new InvalidValue({ option, value, reason: "it must be a duration such as 90s or 1h30m" });
  const ms = Math.ceil(parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (units[unit ?? ""] ?? 0), 0));
  if (!Number.isSafeInteger(ms)) throw new InvalidValue({ option, value, reason: "it is longer than anything lasts" });
  return ms;
}
