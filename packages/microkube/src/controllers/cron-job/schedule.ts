import { type ZonedTime, zonedTime } from "./zone.ts";

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const fields = [
  { name: "minute", least: 0, most: 59 },
  { name: "hour", least: 0, most: 23 },
  { name: "day of month", least: 1, most: 31 },
  { name: "month", least: 1, most: 12, names: months },
  { name: "day of week", least: 0, most: 6, names: days },
] as const satisfies readonly Field[];

const shorthands: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const MINUTE = 60_000;
const HORIZON = 5 * 366 * 24 * 60 * MINUTE;

/** When something is due. */
export interface Schedule {
  /** The first time after `ms`; undefined where there is none within years. */
  next(ms: number): number | undefined;
}

/** Reads a cron expression of five fields, one of the shorthands, or `@every 90m`. Throws with what is wrong in it. */
export function parseSchedule(text: string, timeZone = "UTC"): Schedule {
  const every = /^@every (.+)$/.exec(text)?.[1];
  if (every !== undefined) return everySchedule(parseDuration(every));
  if (text.startsWith("@") && shorthands[text] === undefined) throw new Error(`unrecognized descriptor: ${text}`);
  const parts = (shorthands[text] ?? text).trim().split(/\s+/);
  if (parts.length !== 5) throw new Error(`expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`);
  const sets = parts.map((part, i) => parseField(part, fields[i] as Field));
  return new CronSchedule(sets, parts, timeZone);
}

class CronSchedule implements Schedule {
  readonly #sets: readonly ReadonlySet<number>[];
  /** A day fits if either field fits, unless one of them says any. */
  readonly #eitherDay: boolean;
  readonly #zone: string;

  constructor(sets: readonly ReadonlySet<number>[], parts: readonly string[], zone: string) {
    this.#sets = sets;
    this.#eitherDay = !isAny(parts[2]) && !isAny(parts[4]);
    this.#zone = zone;
  }

  next(ms: number): number | undefined {
    const [minutes, hours] = this.#sets as [ReadonlySet<number>, ReadonlySet<number>];
    let time = Math.floor(ms / MINUTE) * MINUTE + MINUTE;
    const end = ms + HORIZON;
    while (time < end) {
      const at = zonedTime(time, this.#zone);
      // By steps that are too short rather than too long: where clocks change, days have other lengths.
      if (!this.#isDay(at)) time += Math.max(1, (23 - at.hour) * 60 + 60 - at.minute) * MINUTE;
      else if (!hours.has(at.hour)) time += (60 - at.minute) * MINUTE;
      else if (!minutes.has(at.minute)) time += MINUTE;
      else return time;
    }
    return undefined;
  }

  #isDay({ month, day, weekday }: ZonedTime): boolean {
    const [, , monthDays, monthSet, weekdays] = this.#sets;
    if (!monthSet?.has(month)) return false;
    const byMonth = monthDays?.has(day) ?? false;
    const byWeek = weekdays?.has(weekday) ?? false;
    return this.#eitherDay ? byMonth || byWeek : byMonth && byWeek;
  }
}

function isAny(part = ""): boolean {
  return part.startsWith("*") || part.startsWith("?");
}

function parseField(part: string, field: Field): Set<number> {
  const values = new Set<number>();
  for (const piece of part.split(",")) {
    const [range = "", step, ...rest] = piece.split("/");
    if (rest.length > 0) throw new Error(`too many slashes: ${piece}`);
    const stride = step === undefined ? 1 : parseNumber(step, piece);
    if (stride === 0) throw new Error(`step of range should be a positive number: ${piece}`);
    const [first, last] = parseRange(range, step !== undefined, piece, field);
    for (let value = first; value <= last; value += stride) values.add(value);
  }
  return values;
}

function parseRange(range: string, hasStep: boolean, piece: string, field: Field): [number, number] {
  if (range === "*" || range === "?") return [field.least, field.most];
  const [low = "", high, ...rest] = range.split("-");
  if (rest.length > 0) throw new Error(`too many hyphens: ${piece}`);
  const first = parseValue(low, piece, field);
  const last = high === undefined ? (hasStep ? field.most : first) : parseValue(high, piece, field);
  if (first < field.least) throw new Error(`beginning of range (${first}) below minimum (${field.least}): ${piece}`);
  if (last > field.most) throw new Error(`end of range (${last}) above maximum (${field.most}): ${piece}`);
  if (first > last) throw new Error(`beginning of range (${first}) beyond end of range (${last}): ${piece}`);
  return [first, last];
}

function parseValue(text: string, piece: string, { names }: Field): number {
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  return index >= 0 ? index + (names === months ? 1 : 0) : parseNumber(text, piece);
}

function parseNumber(text: string, piece: string): number {
  if (!/^\d+$/.test(text))
    throw new Error(`failed to parse int from ${piece}: strconv.Atoi: parsing "${text}": invalid syntax`);
  return Number(text);
}

const units: Readonly<Record<string, number>> = { s: 1000, m: MINUTE, h: 60 * MINUTE };

function parseDuration(text: string): number {
  if (!/^(\d+(\.\d+)?[hms])+$/.test(text)) throw new Error(`failed to parse duration @every ${text}`);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)([hms])/g))
    total += Number(amount) * (units[unit ?? ""] ?? 0);
  return Math.max(1000, Math.floor(total / 1000) * 1000);
}

function everySchedule(ms: number): Schedule {
  return { next: (after) => Math.floor(after / 1000) * 1000 + ms };
}
