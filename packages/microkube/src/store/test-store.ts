import type { StoredObject, StoreEvent, StoreWrite } from "./store.ts";

/** A write of an object that holds `value`, and its revision as the API's objects do. */
export function put(key: string, expected: number, value: unknown, labels: Record<string, string> = {}): StoreWrite {
  return {
    key,
    expected,
    content: (revision) => ({
      json: JSON.stringify({ metadata: { resourceVersion: String(revision) }, value }),
      labels,
      fields: {},
    }),
  };
}

export const remove = (key: string, expected: number): StoreWrite => ({ key, expected });

export function held(object: StoredObject | undefined): unknown {
  return object && (JSON.parse(object.json) as { value: unknown }).value;
}

/** What a watcher that began with `objects` has after the events; throws where one is out of place. */
export function replay(objects: readonly StoredObject[], events: readonly StoreEvent[]): Map<string, string> {
  const seen = new Map(objects.map((object) => [object.key, object.json]));
  const revisions = new Map(objects.map((object) => [object.key, object.revision]));
  let last = 0;
  for (const { type, revision, object, previous } of events) {
    if (revision <= last) throw new Error(`revision ${revision} after ${last}`);
    last = revision;
    if (object.revision !== revision) throw new Error(`event ${revision} carries ${object.revision}`);
    if (previous?.revision !== revisions.get(object.key)) throw new Error(`a gap before ${object.key} at ${revision}`);
    if ((type === "ADDED") === seen.has(object.key)) throw new Error(`${type} of ${object.key} at ${revision}`);
    if (type === "DELETED") {
      seen.delete(object.key);
      revisions.delete(object.key);
    } else {
      seen.set(object.key, object.json);
      revisions.set(object.key, revision);
    }
  }
  return seen;
}
