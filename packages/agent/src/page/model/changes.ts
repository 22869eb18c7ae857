import { COLLECTIONS, type Collection, type Snapshot } from "./snapshot.ts";

/** What changed between two snapshots: entries that are new or different, null for those that are gone. */
export type Changes = {
  readonly [C in Collection]?: Readonly<Record<string, Snapshot[C][string] | null>>;
} & Partial<Pick<Snapshot, "self" | "viewer">>;

/** The changes that make `after` out of `before`, or undefined where nothing differs. */
export function changesBetween(before: Snapshot, after: Snapshot): Changes | undefined {
  const changes: Record<string, unknown> = {};
  for (const collection of COLLECTIONS) {
    const difference = entriesBetween(before[collection], after[collection]);
    if (difference !== undefined) changes[collection] = difference;
  }
  for (const part of ["self", "viewer"] as const) if (!isSame(before[part], after[part])) changes[part] = after[part];
  return Object.keys(changes).length === 0 ? undefined : (changes as Changes);
}

/** The snapshot with the changes in it; entries that did not change stay the same objects. */
export function withChanges(snapshot: Snapshot, changes: Changes): Snapshot {
  const { self = snapshot.self, viewer = snapshot.viewer } = changes;
  const collections = COLLECTIONS.map((name) => [name, withEntries(snapshot[name], changes[name])] as const);
  return { ...snapshot, self, viewer, ...Object.fromEntries(collections) };
}

type Entries = Readonly<Record<string, unknown>>;

function entriesBetween(before: Entries, after: Entries): Entries | undefined {
  if (before === after) return undefined;
  const changed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(after)) if (!isSame(before[key], value)) changed[key] = value;
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changed[key] = null;
  return Object.keys(changed).length === 0 ? undefined : changed;
}

function withEntries(before: Entries, changed: Entries | undefined): Entries {
  if (changed === undefined) return before;
  return Object.fromEntries(Object.entries({ ...before, ...changed }).filter(([, value]) => value !== null));
}

// Both come from the same functions, which name fields in the same order.
function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
