const LAYOUT = "2006-01-02T15:04:05Z07:00";
const MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00";

/** The pieces of a time, with what Go calls them in its messages. */
const pieces: readonly [layout: string, form: RegExp][] = [
  ["2006", /^\d{4}/],
  ["-", /^-/],
  ["01", /^\d{2}/],
  ["-", /^-/],
  ["02", /^\d{2}/],
  ["T", /^T/],
  ["15", /^\d{2}/],
  [":", /^:/],
  ["04", /^\d{2}/],
  [":", /^:/],
  ["05", /^\d{2}/],
];

/** `2026-01-02T03:04:05Z` of what was sent as RFC 3339. Throws an Error with Go's text for what is no time. */
export function canonicalTime(text: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])-([01]\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/.test(text)) return text;
  return new Date(parse(text, LAYOUT, /^([.,]\d+)?/)).toISOString().replace(/\.\d+Z$/, "Z");
}

/** `2026-01-02T03:04:05.000006Z`, likewise; six digits are needed. */
export function canonicalMicroTime(text: string): string {
  const at = parse(text, MICRO_LAYOUT, /^\.\d{6}/);
  return new Date(at).toISOString().replace(/\.\d+Z$/, `.${text.slice(20, 26)}Z`);
}

function parse(text: string, layout: string, fraction: RegExp): number {
  let rest = text;
  const numbers: number[] = [];
  const take = (piece: string, form: RegExp): string => {
    const found = form.exec(rest)?.[0];
    if (found === undefined)
      throw new Error(`parsing time ${quote(text)} as "${layout}": cannot parse ${quote(rest)} as "${piece}"`);
    rest = rest.slice(found.length);
    return found;
  };
  for (const [piece, form] of pieces) {
    const found = take(piece, form);
    if (/\d/.test(piece)) numbers.push(Number(found));
    checkRange(text, numbers);
  }
  take(".000000", fraction);
  const zone = take("Z07:00", /^(Z|[+-]\d{2}:\d{2})/);
  if (rest !== "") throw new Error(`parsing time ${quote(text)}: extra text: ${quote(rest)}`);
  const [year = 0, month = 1, day = 1, hours = 0, minutes = 0, seconds = 0] = numbers;
  if (day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()) {
    throw new Error(`parsing time ${quote(text)}: day out of range`);
  }
  const at = Date.UTC(year, month - 1, day, hours, minutes, seconds);
  if (zone === "Z") return at;
  const offset = (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))) * 60_000;
  return zone.startsWith("-") ? at + offset : at - offset;
}

const ranges: readonly [name: string, least: number, most: number][] = [
  ["year", 0, 9999],
  ["month", 1, 12],
  ["day", 0, 99],
  ["hour", 0, 23],
  ["minute", 0, 59],
  ["second", 0, 59],
];

function checkRange(text: string, numbers: readonly number[]): void {
  const [name, least, most] = ranges[numbers.length - 1] ?? ["", 0, 0];
  const last = numbers.at(-1) ?? 0;
  if (last < least || last > most) throw new Error(`parsing time ${quote(text)}: ${name} out of range`);
}

const quote = (text: string): string => JSON.stringify(text);
