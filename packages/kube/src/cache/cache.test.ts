import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { FaultServer } from "@fjord/testbed/fault-server";
import { type ConfigMap, configMaps, quickTiming, RecordingHandler, runCache, until } from "./cache-harness.ts";
import { byLabel, byNamespace } from "./indexers.ts";
import { trimManagedFields } from "./trim.ts";

function create(server: FaultServer, name: string, labels: Record<string, string> = {}): void {
  server.create(configMaps, { metadata: { name, namespace: "default", labels } });
}

test("a handler that comes late is told what is there, and then what changes", async () => {
  await using server = await FaultServer.start();
  create(server, "a");
  await using running = runCache(server);
  await running.cache.waitForSync();
  const late = new RecordingHandler<ConfigMap>();
  const remove = running.cache.addHandler(late);
  assert.deepEqual(late.calls, ["initial a@2"]);
  create(server, "b");
  await until("the event", () => late.calls.length === 2);
  assert.equal(late.calls[1], "add b@3");
  remove();
  create(server, "c");
  await until("the event", () => running.cache.size === 3);
  assert.equal(late.calls.length, 2);
});

test("a handler added by a handler gets each object once", async () => {
  await using server = await FaultServer.start();
  await using running = runCache(server);
  await running.cache.waitForSync();
  const inner = new RecordingHandler<ConfigMap>();
  let once = true;
  running.cache.addHandler({
    onAdd() {
      if (once) running.cache.addHandler(inner);
      once = false;
    },
  });
  create(server, "a");
  create(server, "b");
  await until("the events", () => running.cache.size === 2);
  assert.deepEqual(inner.calls, ["initial a@2", "add b@3"]);
});

test("a handler that throws or rejects is reported and disturbs nobody", async () => {
  await using server = await FaultServer.start();
  create(server, "a");
  const errors: LogFields[] = [];
  const logger = { ...silentLogger, error: (_: string, fields: LogFields = {}) => void errors.push(fields) };
  await using running = runCache(server, { logger });
  running.cache.addHandler({
    onAdd() {
      throw new Error("cannot add");
    },
    async onUpdate() {
      throw new Error("cannot update");
    },
  });
  const after = new RecordingHandler<ConfigMap>();
  running.cache.addHandler(after);
  await running.cache.waitForSync();
  server.update(configMaps, { metadata: { name: "a", namespace: "default" } });
  await until("the event", () => after.calls.length === 2);
  assert.deepEqual(after.calls, ["initial a@2", "update a@2 a@3"]);
  assert.deepEqual(running.handler.calls, after.calls);
  await until("both reports", () => errors.length === 2);
  assert.deepEqual(
    errors.map(({ callback, error }) => [callback, error]),
    [
      ["onAdd", "cannot add"],
      ["onUpdate", "cannot update"],
    ],
  );
});

test("an object is found by its name, its namespace and the indexes, as it changes", async () => {
  await using server = await FaultServer.start();
  create(server, "a", { tier: "edge" });
  create(server, "b", { tier: "cloud" });
  await using running = runCache(server, { indexers: { namespace: byNamespace, tier: byLabel("tier") } });
  const { cache } = running;
  await cache.waitForSync();
  const names = (objects: ConfigMap[]) => objects.map(({ metadata }) => metadata.name).sort();
  assert.equal(cache.get({ namespace: "default", name: "a" })?.metadata.labels?.tier, "edge");
  assert.equal(cache.get({ namespace: "other", name: "a" }), undefined);
  assert.deepEqual(names(cache.list("default")), ["a", "b"]);
  assert.deepEqual(cache.list("other"), []);
  assert.deepEqual(names(cache.byIndex("namespace", "default")), ["a", "b"]);
  assert.deepEqual(names(cache.byIndex("tier", "edge")), ["a"]);
  server.update(configMaps, { metadata: { name: "b", namespace: "default", labels: { tier: "edge" } } });
  server.delete(configMaps, { name: "a", namespace: "default" });
  await until("the events", () => cache.size === 1);
  assert.deepEqual(names(cache.byIndex("tier", "edge")), ["b"]);
  assert.deepEqual(cache.byIndex("tier", "cloud"), []);
  cache.addIndex("late", byNamespace);
  assert.deepEqual(names(cache.byIndex("late", "default")), ["b"]);
  cache.addIndex("late", byNamespace);
  assert.throws(() => cache.addIndex("late", byLabel("x")), /has another one of that name/);
  assert.throws(() => cache.byIndex("colour", "red"), /made without it \(it has: namespace, tier, late\)/);
});

test("a transform trims what is listed and what is watched", async () => {
  await using server = await FaultServer.start();
  const managedFields = [{ manager: "test" }];
  server.create(configMaps, { metadata: { name: "a", namespace: "default", managedFields } });
  await using running = runCache(server, { transform: trimManagedFields });
  await running.cache.waitForSync();
  await until("a watch is open", () => server.openWatches === 1);
  server.create(configMaps, { metadata: { name: "b", namespace: "default", managedFields } });
  await until("the event", () => running.cache.size === 2);
  for (const { metadata } of running.cache.list()) assert.equal(metadata.managedFields, undefined);
  server.fault({ type: "gone" }, { on: { verb: "watch" } });
  server.breakWatches("close");
  await until("listed again", () => server.requests.count({ verb: "watch" }) === 3);
  assert.deepEqual(running.handler.calls, ["initial a@2", "add b@3"]);
});

test("a selector narrows the cache, and an object that leaves it is deleted there", async () => {
  await using server = await FaultServer.start();
  create(server, "a", { tier: "edge" });
  create(server, "b", { tier: "cloud" });
  await using running = runCache(server, { scope: { labelSelector: "tier=edge" } });
  await running.cache.waitForSync();
  await until("a watch is open", () => server.openWatches === 1);
  server.update(configMaps, { metadata: { name: "b", namespace: "default", labels: { tier: "edge" } } });
  server.update(configMaps, { metadata: { name: "a", namespace: "default", labels: { tier: "cloud" } } });
  await until("the events", () => running.handler.calls.length === 3);
  assert.deepEqual(running.handler.calls, ["initial a@2", "add b@4", "delete a@5"]);
});

test("resync tells those who asked for it of every object again", async () => {
  const clock = new ManualClock();
  await using server = await FaultServer.start();
  create(server, "a");
  await using running = runCache(server, { clock });
  await running.cache.waitForSync();
  const resynced = new RecordingHandler<ConfigMap>();
  const remove = running.cache.addHandler(resynced, { resyncMs: 60_000 });
  await clock.advance(70_000);
  assert.deepEqual(resynced.take(), ["initial a@2", "update a@2 a@2"]);
  await clock.advance(70_000);
  assert.deepEqual(resynced.take(), ["update a@2 a@2"]);
  remove();
  await clock.advance(200_000);
  assert.deepEqual(resynced.calls, []);
  assert.deepEqual(running.handler.calls, ["initial a@2"]);
});

test("waiting for the first list ends with the reason why there is none", async () => {
  await using server = await FaultServer.start();
  server.fault({ type: "status", status: 403, message: "configmaps is forbidden" }, { times: 1000 });
  await using running = runCache(server);
  await until("a refusal", () => running.cache.health.lastError !== undefined);
  await assert.rejects(running.cache.waitForSync(AbortSignal.timeout(20)), {
    code: "KUBE_CACHE_NOT_SYNCED",
    message: /first list of ConfigMap: .*configmaps is forbidden/,
  });
  server.heal();
  await running.cache.waitForSync();
});

test("stops at once and leaves nothing open", async () => {
  await using server = await FaultServer.start();
  const running = runCache(server, { timing: { ...quickTiming, backoffInitialMs: 60_000, backoffMaxMs: 60_000 } });
  await running.cache.waitForSync();
  await until("a watch is open", () => server.openWatches === 1);
  await running[Symbol.asyncDispose]();
  await until("the watch is closed", () => server.openWatches === 0);
  server.fault({ type: "status", status: 500 });
  const waiting = runCache(server, { timing: { ...quickTiming, backoffInitialMs: 60_000, backoffMaxMs: 60_000 } });
  await until("it waits", () => waiting.cache.health.failures === 1);
  await waiting[Symbol.asyncDispose]();
});
