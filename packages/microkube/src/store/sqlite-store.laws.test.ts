import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SqliteStore } from "./sqlite-store.ts";
import { Compacted, type StoredObject, type StoreEvent, type StoreWrite } from "./store.ts";
import { put, remove, replay } from "./test-store.ts";

interface Watcher {
  readonly prefix: string;
  readonly objects: readonly StoredObject[];
  readonly events: StoreEvent[];
}

const prefixes = ["pods/", "pods/a/", "pods/b/"];
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("write" as const), key: fc.nat(5), remove: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("settle" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("watch" as const), prefix: fc.nat(2), back: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), back: fc.nat(8) }) },
);

test("every watcher sees each revision of each object once, in order, and ends in the state that a list shows", async () => {
  const law = fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(6), async (steps, events) => {
    const store = new SqliteStore({ path: ":memory:", recent: { events: events + 1, characters: 1e6 } });
    const watchers: Watcher[] = [];
    const pending: Promise<unknown>[] = [];
    for (const [at, one] of steps.entries()) {
      if (one.do === "write") {
        const key = `pods/${one.key % 2 === 0 ? "a" : "b"}/${one.key}`;
        const expected = store.head(key)?.revision ?? 0;
        const write: StoreWrite = one.remove && expected !== 0 ? remove(key, expected) : put(key, expected, at);
        pending.push(store.write([write]));
      } else if (one.do === "settle") await Promise.all(pending.splice(0));
      else if (one.do === "compact") store.compact(store.revision - one.back);
      else begin(store, prefixes[one.prefix] as string, Math.max(1, store.revision - one.back), watchers);
    }
    await Promise.all(pending);
    for (const { prefix, objects, events } of watchers) {
      const expected = new Map(store.list(prefix).items.map(({ key, json }) => [key, json]));
      assert.deepEqual(replay(objects, events), expected);
    }
    await store.close();
  });
  await fc.assert(law, { numRuns: 300 });
});

function begin(store: SqliteStore, prefix: string, revision: number, watchers: Watcher[]): void {
  try {
    const { items } = store.list(prefix, { revision });
    const events: StoreEvent[] = [];
    store.watch(prefix, revision, (event) => events.push(event));
    watchers.push({ prefix, objects: items, events });
  } catch (error) {
    if (!(error instanceof Compacted)) throw error;
  }
}
