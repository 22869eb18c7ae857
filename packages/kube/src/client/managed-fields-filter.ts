import { randomUUID } from "node:crypto";

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const key = Buffer.from('"managedFields":[');
/** Stands for them while the rest is parsed. Nobody can guess it, and it is told nobody, so no server can send it. */
let marker: string | undefined;
/** Looked for instead of the whole key: an F is rare in these texts, and a quote is not, which makes it faster. */
const keyEnd = Buffer.from('Fields":[');

/**
 * What JSON.parse gives for `before` and the text, without `metadata.managedFields` of the items, which `itemsOf` finds.
 * They are half of what a server sends and almost nobody reads them: they are cut out before the rest is parsed.
 */
export function parseWithoutManagedFields<T>(before: string, text: Buffer, itemsOf: (value: T) => unknown): T {
  marker ??= randomUUID();
  const ends = arrays(text);
  const cuts = ends.length / 2;
  if (cuts > 0) {
    const value = tryParse<T>(before + without(text, ends, marker));
    if (value !== undefined && omit(itemsOf(value), marker) === cuts) return value;
  }
  // Nothing was cut, or something that only has the same name, or too little.
  const value = JSON.parse(before + text.toString("utf8")) as T;
  omit(itemsOf(value), marker);
  return value;
}

/**
 * Where each array that is a value of the key begins and ends in the text, one after the other. The key needs no look at what is
 * around it: within a string its quotes would be escaped, so what follows is always a value.
 *
 * The first closing bracket is taken for the array's end unless another opens before: servers send no arrays in there. It
 * may also lie within a string. Then what is left is no JSON: all that was inside strings is outside from there on, which
 * neither the next key nor the end of the text can be.
 */
function arrays(text: Buffer): number[] {
  const ends: number[] = [];
  for (let at = text.indexOf(keyEnd); at !== -1; at = text.indexOf(keyEnd, at)) {
    at += keyEnd.length;
    if (at < key.length || key.compare(text, at - key.length, at) !== 0) continue;
    const nested = text.indexOf(OPEN_BRACKET, at);
    const length = text.subarray(at, nested === -1 ? text.length : nested).indexOf(CLOSE_BRACKET);
    if (length === -1) continue;
    ends.push(at - 1, at + length + 1);
    at += length + 1;
  }
  return ends;
}

/** The text with the marker in the place of each of these. */
function without(text: Buffer, ends: readonly number[], marker: string): string {
  let rest = "";
  let from = 0;
  for (let index = 0; index < ends.length; index += 2) {
    rest += `${text.toString("utf8", from, ends[index])}"${marker}"`;
    from = ends[index + 1] as number;
  }
  return rest + text.toString("utf8", from);
}

function tryParse<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

/** Takes the field out of the items, and gives the number of markers among them. */
function omit(items: unknown, marker: string): number {
  let found = 0;
  for (const item of Array.isArray(items) ? (items as readonly Item[]) : []) {
    if (item?.metadata?.managedFields === undefined) continue;
    // Not `delete`: that would turn the object into a dictionary, which is slower and takes more memory.
    const { managedFields, ...rest } = item.metadata;
    item.metadata = rest;
    if (managedFields === marker) found++;
  }
  return found;
}

/** Whatever was parsed: any of it may be missing, or something else. */
type Item = { metadata?: { managedFields?: unknown } | null } | null | undefined;
