import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { silentLogger, systemClock } from "@fjord/base";
import { NodeStore } from "../store/node-store.ts";
import { StoreWriter } from "./store-writer.ts";

const key = { kind: "ConfigMap", namespace: "shop", name: "words" };
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "words", namespace: "shop" } };

test("once closed it has written all, and writes no more: the store goes after it", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "fjord-writer-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = await NodeStore.open({ file: join(directory, "node.db"), clock: systemClock, logger: silentLogger });
  const writer = new StoreWriter(store);
  writer.put(key, object);
  writer.close();
  assert.deepEqual(store.object(key), object);
  writer.remove(key);
  store.close();
  writer.remove(key);
  await turn();
});
