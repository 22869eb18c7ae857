import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SqliteStore } from "./sqlite-store.ts";
import type { StoreEvent } from "./store.ts";
import { replay } from "./test-store.ts";

const writer = join(import.meta.dirname, "test-writer.ts");
const LIVES = Number(process.env.FJORD_STORE_KILLS ?? 6);

/** One life of the writer, killed once it has said so much; what was acknowledged, by revision. */
async function lifeOf(
  path: string,
  survives: string,
  characters: number,
  ...more: string[]
): Promise<Map<number, string>> {
  const child = spawn(process.execPath, [writer, path, survives, ...more]);
  let text = "";
  let error = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
    if (text.length > characters) child.kill("SIGKILL");
  });
  child.stderr.on("data", (chunk) => {
    error += chunk;
  });
  await once(child, "close");
  assert.equal(error, "");
  const lines = text.split("\n").slice(0, -1);
  const acknowledged = new Map(lines.map((line) => [Number(line.split(" ")[1]), line.split(" ")[0] ?? ""]));
  assert.equal(acknowledged.size, lines.length, "a revision was given twice");
  return acknowledged;
}

test("what was acknowledged is there after kill -9, once, and watchers go on without a gap", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-kill-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "db");
  const acknowledged = new Map<number, string>();
  for (let life = 0; life < LIVES; life++) {
    // At another moment of its work each time.
    for (const [revision, key] of await lifeOf(path, life % 2 === 0 ? "process" : "machine", 500 + 700 * life)) {
      assert(!acknowledged.has(revision), `revision ${revision} was given twice`);
      acknowledged.set(revision, key);
    }
    const store = new SqliteStore({ path });
    const events: StoreEvent[] = [];
    store.watch("pods/", 1, (event) => events.push(event))();
    const inLog = new Map(events.map(({ revision, object }) => [revision, object.key]));
    for (const [revision, key] of acknowledged) assert.equal(inLog.get(revision), key, `revision ${revision} is lost`);
    const state = new Map(store.list("pods/").items.map(({ key, json }) => [key, json]));
    assert.deepEqual(replay([], events), state);
    await store.close();
  }
  assert(acknowledged.size > 100);
});

test("the same where the past is being forgotten when the kill comes", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-kill-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "db");
  let last = 1;
  for (let life = 0; life < LIVES / 2; life++) {
    const acknowledged = await lifeOf(path, "process", 700 + 300 * life, "forgets");
    assert(Math.min(...acknowledged.keys()) > last, "a revision was given twice");
    last = Math.max(...acknowledged.keys());
    const store = new SqliteStore({ path });
    assert(store.compacted > 1, "nothing is forgotten");
    const events: StoreEvent[] = [];
    store.watch("pods/", store.compacted, (event) => events.push(event))();
    const inLog = new Map(events.map(({ revision, object }) => [revision, object.key]));
    for (const [revision, key] of acknowledged) {
      if (revision > store.compacted) assert.equal(inLog.get(revision), key, `revision ${revision} is lost`);
      assert((store.head(key)?.revision ?? 0) >= revision, `revision ${revision} of ${key} is undone`);
    }
    assert.throws(() => store.watch("pods/", store.compacted - 1, () => {}), { name: "Compacted" });
    await store.close();
  }
});
