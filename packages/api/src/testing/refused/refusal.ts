import type { FjordKind } from "../../kind.ts";

/** A change to a kind's example that an API server must refuse, and the words that it must use. */
export interface Refusal {
  kind: FjordKind;
  what: string;
  /** What the object is before the change, as a merge patch for the example. Absent where it cannot even be made. */
  from?: object;
  /** A merge patch for the object. */
  change: object;
  /** The field that the refusal names. */
  field: string;
  words: string;
}

export type Row = [what: string, change: object, field: string, words: string];

/** Objects of one kind that cannot be made. */
export function refuses(kind: FjordKind, rows: Row[]): Refusal[] {
  return rows.map(([what, change, field, words]) => ({ kind, what, change, field, words }));
}

/** Changes to one object, made from the example by the patch `from`, that are not allowed. */
export function refusesChanges(kind: FjordKind, from: object, rows: Row[]): Refusal[] {
  return refuses(kind, rows).map((refusal) => ({ ...refusal, from }));
}
