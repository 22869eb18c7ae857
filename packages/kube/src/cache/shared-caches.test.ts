import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, silentLogger, systemClock } from "@fjord/base";
import { FaultServer } from "@fjord/testbed/fault-server";
import { KubeClient } from "../client/client.ts";
import { configMaps, quickTiming, until } from "./cache-harness.ts";
import { SharedCaches } from "./shared-caches.ts";

async function start() {
  const server = await FaultServer.start();
  const client = new KubeClient({ server: server.url, namespace: "default", tls: {} });
  const caches = new SharedCaches({
    client,
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    timing: quickTiming,
  });
  const stop = new AbortController();
  return {
    server,
    caches,
    run: () => caches.run(stop.signal),
    stop,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("those who ask for the same kind and scope share one list and one watch", async () => {
  await using fixture = await start();
  const { server, caches } = fixture;
  const before = caches.open(configMaps);
  const running = fixture.run();
  const after = caches.open(configMaps);
  const other = caches.open(configMaps, { namespace: "one" });
  assert.equal(before.cache, after.cache);
  assert.notEqual(before.cache, other.cache);
  await caches.waitForSync(AbortSignal.timeout(60_000));
  assert.deepEqual([before.cache.hasSynced, other.cache.hasSynced], [true, true]);
  await until("both watches", () => server.openWatches === 2);
  assert.equal(server.requests.count({ verb: "list" }), 2);
  assert.equal(server.requests.count({ verb: "watch" }), 2);
  fixture.stop.abort();
  await running;
  await until("no watch is left", () => server.openWatches === 0);
});

test("a cache ends with its last holder, and begins anew for the next", async () => {
  await using fixture = await start();
  const { server, caches } = fixture;
  const running = fixture.run();
  const first = caches.open(configMaps);
  const second = caches.open(configMaps);
  await first.cache.waitForSync();
  await until("the watch", () => server.openWatches === 1);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(caches.size, 1);
  second[Symbol.dispose]();
  assert.equal(caches.size, 0);
  await until("the watch is closed", () => server.openWatches === 0);
  const third = caches.open(configMaps);
  assert.notEqual(third.cache, first.cache);
  await third.cache.waitForSync();
  fixture.stop.abort();
  await running;
});
