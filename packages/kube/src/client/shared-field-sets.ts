import { randomUUID } from "node:crypto";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const key = Buffer.from('"fieldsV1":');
/** Looked for instead of the whole key: a V is rare in these texts, and a quote is not, which makes it ten times faster. */
const keyEnd = Buffer.from('V1":');
/** What is shorter is not worth it. Also how much of a value tells which others it may be equal to. */
const SHORTEST = 64;
/** What is longer is left as it is. */
const LONGEST = 16 * 1024;
/** Values that are remembered. */
const CAPACITY = 256;
/** After this many misses in a row only one in 64 is remembered: it costs more than it saves where none are alike. */
const PATIENCE = 4;

/** The last value of `fieldsV1` with a certain beginning. */
interface FieldSet {
  readonly text: Buffer;
  readonly value: object;
  /** Stands for it while the rest is parsed. Nobody can guess it, so no server can send it. */
  readonly marker: string;
  readonly quotedMarker: Buffer;
}

/**
 * Parses lists so that equal `fieldsV1` of `managedFields` are one frozen object. They are half of what a server sends,
 * and the same for the replicas of a workload, which a list shows one after another: one that is the same as the last is
 * found by comparing bytes, and not parsed.
 */
export class SharedFieldSets {
  /** By how they begin. Emptied when full. */
  readonly #slots = new Map<string, { set?: FieldSet; misses: number }>();

  /** What JSON.parse gives for `before` and the text; `itemsOf` tells where in it a list's items are. */
  parse<T>(before: string, text: Buffer, itemsOf: (value: T) => unknown): T {
    const first = text.indexOf(keyEnd);
    if (first === -1) return JSON.parse(before + text.toString("utf8")) as T;
    const { parts, values, cuts } = this.#cut(text, first);
    if (cuts > 0) {
      const value = JSON.parse(before + Buffer.concat(parts).toString("utf8")) as T;
      if (putBack(itemsOf(value), values) === cuts) return value;
      // Some lie elsewhere, such as in an object within an object.
    }
    return JSON.parse(before + text.toString("utf8")) as T;
  }

  /**
   * Puts markers in the place of values. The key needs no look at what is around it: within a string its quotes would be
   * escaped, so what follows is always a value.
   */
  #cut(text: Buffer, first: number): { parts: Buffer[]; values: Map<string, object>; cuts: number } {
    const parts: Buffer[] = [];
    const values = new Map<string, object>();
    let cuts = 0;
    let from = 0;
    for (let at = first; at !== -1; at = text.indexOf(keyEnd, at)) {
      at += keyEnd.length;
      const set = isAt(text, at - key.length, key) ? this.#find(text, at) : undefined;
      if (set === undefined) continue;
      parts.push(text.subarray(from, at), set.quotedMarker);
      values.set(set.marker, set.value);
      cuts++;
      at += set.text.length;
      from = at;
    }
    parts.push(text.subarray(from));
    return { parts, values, cuts };
  }

  #find(text: Buffer, start: number): FieldSet | undefined {
    const slot = this.#slot(text.toString("latin1", start, start + SHORTEST));
    if (slot.set !== undefined && isAt(text, start, slot.set.text)) {
      slot.misses = 0;
      return slot.set;
    }
    slot.misses++;
    if (slot.misses > PATIENCE && slot.misses % 64 !== 0) return undefined;
    const end = objectEnd(text, start);
    if (end === undefined || end - start < SHORTEST) return undefined;
    const set = fieldSet(text.subarray(start, end));
    if (set !== undefined) slot.set = set;
    return set;
  }

  #slot(beginning: string) {
    const known = this.#slots.get(beginning);
    if (known !== undefined) return known;
    if (this.#slots.size === CAPACITY) this.#slots.clear();
    const slot: { set?: FieldSet; misses: number } = { misses: 0 };
    this.#slots.set(beginning, slot);
    return slot;
  }
}

/** Undefined if this is no JSON: whoever parses all of it says what is wrong. */
function fieldSet(text: Buffer): FieldSet | undefined {
  try {
    const value = freeze(JSON.parse(text.toString("utf8")) as object);
    const marker = randomUUID();
    return { text: Buffer.from(text), value, marker, quotedMarker: Buffer.from(`"${marker}"`) };
  } catch {
    return undefined;
  }
}

/** Freezes a JSON value through and through, however deep it is. */
function freeze(value: object): object {
  const left = [value];
  for (let object = left.pop(); object !== undefined; object = left.pop()) {
    Object.freeze(object);
    for (const field of Object.values(object)) if (typeof field === "object" && field !== null) left.push(field);
  }
  return value;
}

/** Replaces markers by the values they stand for, and gives their number. */
function putBack(items: unknown, values: ReadonlyMap<string, object>): number {
  let found = 0;
  for (const item of arrayOf(items)) {
    for (const entry of arrayOf(item?.metadata?.managedFields)) {
      const value = typeof entry?.fieldsV1 === "string" ? values.get(entry.fieldsV1) : undefined;
      if (value === undefined) continue;
      (entry as Entry).fieldsV1 = value;
      found++;
    }
  }
  return found;
}

type Entry = { fieldsV1?: unknown };
/** Whatever was parsed: any of it may be missing, or something else. */
type Item = Entry & { metadata?: { managedFields?: unknown } | null };

function arrayOf(value: unknown): readonly (Item | null | undefined)[] {
  return Array.isArray(value) ? value : [];
}

function isAt(text: Buffer, start: number, part: Buffer): boolean {
  const end = start + part.length;
  return start >= 0 && end <= text.length && part.compare(text, start, end) === 0;
}

/** Where the object that begins here ends; undefined if none does, or only after a long time. */
function objectEnd(text: Buffer, start: number): number | undefined {
  if (text[start] !== OPEN_BRACE) return undefined;
  const limit = Math.min(text.length, start + LONGEST);
  let depth = 0;
  let inString = false;
  for (let at = start; at < limit; at++) {
    const byte = text[at];
    if (byte === QUOTE) inString = !inString;
    else if (inString) {
      if (byte === BACKSLASH) at++;
    } else if (byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACE && --depth === 0) return at + 1;
  }
  return undefined;
}
