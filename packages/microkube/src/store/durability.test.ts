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

test("what was acknowledged is there after kill -9, once, and watchers go on without a gap", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-kill-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "db");
  const acknowledged = new Map<number, string>();
  for (let life = 0; life < LIVES; life++) {
    const child = spawn(process.execPath, [writer, path, life % 2 === 0 ? "process" : "machine"]);
    let text = "";
    let error = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      // At another moment of its work each time.
      if (text.length > 500 + 700 * life) child.kill("SIGKILL");
    });
    child.stderr.on("data", (chunk) => {
      error += chunk;
    });
    await once(child, "close");
    assert.equal(error, "");
    for (const line of text.split("\n").slice(0, -1)) {
      const [key = "", revision] = line.split(" ");
      assert(!acknowledged.has(Number(revision)), `revision ${revision} was given twice`);
      acknowledged.set(Number(revision), key);
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
