import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { SqliteStore } from "./sqlite-store.ts";
import { Changed, Compacted, NotYet, type StoreEvent } from "./store.ts";
import { held, put, remove } from "./test-store.ts";

function folder(t: { after(done: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), "fjord-store-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe("a store", () => {
  test("is at revision 1 when empty, and grows by one with each write", async () => {
    const store = new SqliteStore({ path: ":memory:" });
    assert.equal(store.revision, 1);
    assert.equal(await store.write([put("pods/a/x", 0, 1)]), 2);
    assert.equal(await store.write([put("pods/a/y", 0, 1), put("pods/a/x", 2, 2)]), 4);
    assert.equal(store.revision, 4);
    assert.equal(held(store.get("pods/a/x")), 2);
    await store.close();
  });

  test("refuses a write of what is not at the revision expected, and all that comes with it", async () => {
    const store = new SqliteStore({ path: ":memory:" });
    await store.write([put("pods/a/x", 0, 1)]);
    await assert.rejects(store.write([put("pods/a/y", 0, 1), put("pods/a/x", 7, 2)]), (error) => {
      assert(error instanceof Changed);
      return error.key === "pods/a/x" && error.actual === 2;
    });
    await assert.rejects(store.write([put("pods/a/x", 0, 2)]), Changed);
    assert.equal(store.get("pods/a/y"), undefined);
    assert.equal(store.revision, 2);
    await store.close();
  });

  test("shows readers what is durable, and writers what is newest", async () => {
    const store = new SqliteStore({ path: ":memory:" });
    const written = store.write([put("pods/a/x", 0, 1)]);
    assert.equal(store.get("pods/a/x"), undefined);
    assert.equal(held(store.head("pods/a/x")), 1);
    const again = store.write([remove("pods/a/x", 2)]);
    assert.equal(store.head("pods/a/x"), undefined);
    assert.deepEqual(await Promise.all([written, again]), [2, 3]);
    assert.equal(store.get("pods/a/x"), undefined);
    await store.close();
  });

  test("lists in the order of keys, by resource and by namespace, in pages of one moment", async () => {
    const store = new SqliteStore({ path: ":memory:" });
    for (const key of ["pods/b/1", "pods/a/2", "pods/a-b/1", "pods/a/1", "podtemplates/a/1", "apps/deployments/a/1"])
      await store.write([put(key, 0, key)]);
    const keys = (prefix: string) => store.list(prefix).items.map(({ key }) => key);
    assert.deepEqual(keys("pods/"), ["pods/a-b/1", "pods/a/1", "pods/a/2", "pods/b/1"]);
    assert.deepEqual(keys("pods/a/"), ["pods/a/1", "pods/a/2"]);
    assert.deepEqual(keys("apps/deployments/"), ["apps/deployments/a/1"]);
    assert.deepEqual(keys("apps/deployments/a/"), ["apps/deployments/a/1"]);
    assert.deepEqual(keys("secrets/"), []);
    const first = store.list("pods/", { limit: 2 });
    assert.deepEqual([first.next, first.remaining], ["pods/a/1", 2]);
    await store.write([put("pods/a/3", 0, 0)]);
    await store.write([remove("pods/b/1", 2)]);
    const second = store.list("pods/", { limit: 5, after: "pods/a/1", revision: first.revision });
    assert.deepEqual(
      second.items.map(({ key }) => key),
      ["pods/a/2", "pods/b/1"],
    );
    assert.deepEqual([second.next, second.revision], [undefined, first.revision]);
    await store.close();
  });

  test("tells watchers what came after a revision, from memory or from the log, then what comes", async (t) => {
    const path = join(folder(t), "db");
    for (const recent of [
      { events: 2, characters: 1e6 },
      { events: 100, characters: 1e6 },
    ]) {
      const store = new SqliteStore({ path: `${path}-${recent.events}`, recent });
      await store.write([put("pods/a/x", 0, 1)]);
      await store.write([put("pods/b/x", 0, 1)]);
      await store.write([put("pods/a/x", 2, 2)]);
      await store.write([remove("pods/a/x", 4)]);
      const seen: StoreEvent[] = [];
      const stop = store.watch("pods/a/", 1, (event) => seen.push(event));
      await store.write([put("pods/a/x", 0, 3)]);
      stop();
      await store.write([put("pods/a/x", 6, 4)]);
      assert.deepEqual(
        seen.map(({ type, revision, object, previous }) => [type, revision, held(object), held(previous)]),
        [
          ["ADDED", 2, 1, undefined],
          ["MODIFIED", 4, 2, 1],
          ["DELETED", 5, 2, 2],
          ["ADDED", 6, 3, undefined],
        ],
      );
      assert.equal(JSON.parse(seen[2]?.object.json ?? "").metadata.resourceVersion, "5");
      assert.throws(() => store.watch("pods/", 99, () => {}), NotYet);
      await store.close();
    }
  });

  test("forgets what is compacted, and keeps what is current and what comes after", async (t) => {
    const path = join(folder(t), "db");
    let store = new SqliteStore({ path, recent: { events: 1, characters: 1e6 } });
    await store.write([put("pods/a/x", 0, 1)]);
    await store.write([put("pods/a/y", 0, 1)]);
    await store.write([put("pods/a/x", 2, 2)]);
    await store.write([put("pods/a/x", 4, 3)]);
    await store.write([remove("pods/a/y", 3)]);
    store.compact(4);
    assert.equal(store.compacted, 4);
    assert.throws(() => store.watch("pods/", 3, () => {}), Compacted);
    assert.throws(() => store.list("pods/", { revision: 3 }), Compacted);
    assert.deepEqual(store.list("pods/", { revision: 4 }).items.map(held), [2, 1]);
    store.compact(6);
    await store.close();
    store = new SqliteStore({ path });
    assert.deepEqual([store.revision, store.compacted], [6, 6]);
    assert.deepEqual(store.list("pods/").items.map(held), [3]);
    await store.close();
  });

  test("is the same after it was closed and opened, whatever it promises to survive", async (t) => {
    for (const survives of ["process", "machine"] as const) {
      const path = join(folder(t), "db");
      let store = new SqliteStore({ path, survives });
      await Promise.all(Array.from({ length: 50 }, (_, i) => store.write([put(`pods/a/${i}`, 0, i, { i: `${i}` })])));
      await store.write([remove("pods/a/7", store.get("pods/a/7")?.revision ?? 0)]);
      const before = store.list("pods/");
      await store.close();
      store = new SqliteStore({ path, survives });
      assert.deepEqual(store.list("pods/"), before);
      const types: string[] = [];
      store.watch("pods/", 50, ({ type }) => types.push(type))();
      assert.deepEqual(types, ["ADDED", "DELETED"]);
      await store.close();
    }
  });

  test("is of one process: a second one is refused", async (t) => {
    const path = join(folder(t), "db");
    const store = new SqliteStore({ path });
    assert.throws(() => new SqliteStore({ path }), /locked/);
    await store.close();
  });

  test("undoes a batch that could not be written, and goes on", async () => {
    const store = new SqliteStore({ path: ":memory:" });
    await store.write([put("pods/a/x", 0, 1)]);
    const bad = store.write([
      { key: "pods/a/y", expected: 0, content: () => ({ json: 5n as never, labels: {}, fields: {} }) },
    ]);
    const good = store.write([put("pods/a/z", 0, 1)]);
    const worse = store.write([
      { key: "pods/a/v", expected: 0, content: () => ({ json: {} as never, labels: {}, fields: {} }) },
    ]);
    await assert.rejects(bad);
    await assert.rejects(good);
    await assert.rejects(worse);
    assert.equal(await store.write([put("pods/a/z", 0, 2)]), 3);
    assert.deepEqual(store.list("pods/").items.map(held), [1, 2]);
    await store.close();
  });
});
