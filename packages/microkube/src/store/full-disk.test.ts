import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { RevisionLog } from "./revision-log.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { CannotKeep } from "./store.ts";
import { held, put } from "./test-store.ts";

/** As SQLite says it. */
function full(): never {
  throw Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
}

test("a full disk refuses writes, loses nothing that was answered, and is over by itself", async (t) => {
  const told: (string | undefined)[] = [];
  const store = new SqliteStore({ path: ":memory:", told: (problem) => void told.push(problem) });
  const first = await store.write([put("/a", 0, 1)]);
  const faults = (["append", "compact", "tryToWrite"] as const).map((name) =>
    t.mock.method(RevisionLog.prototype, name, full),
  );
  await assert.rejects(store.write([put("/a", first, 2)]), (error) => {
    assert.ok(error instanceof CannotKeep);
    assert.equal(error.message, "the disk is full");
    return true;
  });
  assert.equal(store.problem, "the disk is full");
  assert.equal(held(store.get("/a")), 1);
  store.compact(first);
  assert.equal(store.compacted < first, true);
  for (const fault of faults) fault.mock.restore();
  while (store.problem !== undefined) await sleep(20);
  assert.deepEqual(told, ["the disk is full", undefined]);
  const second = await store.write([put("/a", first, 3)]);
  assert.equal(second, first + 1);
  assert.equal(held(store.get("/a")), 3);
  await store.close();
});
