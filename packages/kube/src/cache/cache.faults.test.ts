import assert from "node:assert/strict";
import { test } from "node:test";
import { describeError } from "@fjord/base";
import { type Break, FaultServer } from "@fjord/testbed/fault-server";
import { configMaps, quickTiming, type RunOptions, runCache, until, versionOf } from "./cache-harness.ts";

const on = (verb: "list" | "watch") => ({ verb, resource: "configmaps" }) as const;

/** Lists that begin a new round, unlike the look at one revision that follows a break. */
const fullLists = {
  verb: "list",
  where: ({ query }: { query: URLSearchParams }) => !query.has("resourceVersion") && !query.has("continue"),
} as const;

/** A server with `a` and `b` (at revisions 2 and 3) and a cache that has seen them. */
async function synced(options: RunOptions = {}) {
  const server = await FaultServer.start();
  write(server, "a", "1");
  write(server, "b", "1");
  const running = runCache(server, options);
  await running.cache.waitForSync();
  await until("a watch is open", () => server.openWatches === 1);
  assert.deepEqual(running.handler.take(), ["initial a@2", "initial b@3"]);
  server.requests.clear();
  return {
    ...running,
    server,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function write(server: FaultServer, name: string, value: string): void {
  const object = { metadata: { name, namespace: "default" }, data: { value } };
  if (server.store.get("configmaps", `default/${name}`) === undefined) server.create(configMaps, object);
  else server.update(configMaps, object);
}

function remove(server: FaultServer, name: string): void {
  server.delete(configMaps, { name, namespace: "default" });
}

/** What the server has, as the cache should. */
function truth(server: FaultServer): string[] {
  return server.list(configMaps).map(versionOf).sort();
}

function content(cache: { list(): Parameters<typeof versionOf>[0][] }): string[] {
  return cache.list().map(versionOf).sort();
}

test("lists in pages and follows the watch from there", async () => {
  await using server = await FaultServer.start();
  for (const name of ["a", "b", "c", "d", "e"]) write(server, name, "1");
  await using running = runCache(server, { timing: { ...quickTiming, pageSize: 2 } });
  await running.cache.waitForSync();
  assert.equal(running.cache.hasSynced, true);
  await until("a watch is open", () => server.openWatches === 1);
  assert.deepEqual(
    server.requests.matching(on("list")).map(({ query }) => [query.get("limit"), query.has("continue")]),
    [
      ["2", false],
      ["2", true],
      ["2", true],
      // The look back at that revision as a whole.
      ["500", false],
    ],
  );
  assert.deepEqual(running.handler.take(), ["initial a@2", "initial b@3", "initial c@4", "initial d@5", "initial e@6"]);
  write(server, "a", "2");
  remove(server, "b");
  write(server, "f", "1");
  await until("the last event", () => running.handler.calls.length === 3);
  assert.deepEqual(running.handler.take(), ["update a@2 a@7", "delete b@8", "add f@9"]);
  assert.deepEqual(content(running.cache), truth(server));
  const [watch] = server.requests.matching(on("watch"));
  assert.equal(watch?.query.get("resourceVersion"), "6");
  assert.equal(watch?.query.get("allowWatchBookmarks"), "true");
  assert.equal(running.cache.get({ namespace: "default", name: "a" })?.kind, "ConfigMap");
  assert.equal(running.cache.get({ namespace: "default", name: "e" })?.apiVersion, "v1");
});

for (const how of ["close", "reset", "truncate", "silence"] satisfies Break[]) {
  test(`goes on where it stood after ${how} of the watch, without listing again`, async () => {
    await using running = await synced({ timing: { ...quickTiming, idleTimeoutMs: 150 } });
    const { server, cache, handler } = running;
    server.breakWatches(how);
    write(server, "a", "2");
    write(server, "c", "1");
    remove(server, "b");
    remove(server, "c");
    await until("the last event", () => handler.calls.length >= 4);
    assert.deepEqual(handler.take(), ["update a@2 a@4", "add c@5", "delete b@6", "delete c@7"]);
    assert.deepEqual(content(cache), truth(server));
    assert.equal(server.requests.count(fullLists), 0);
    assert.ok(server.requests.count() <= 4, `${server.requests.count()} requests`);
  });

  test(`survives ${how} in the middle of the events`, async () => {
    await using running = await synced({ timing: { ...quickTiming, idleTimeoutMs: 150 } });
    const { server, cache, handler } = running;
    server.fault({ type: how, afterEvents: 1 }, { on: on("watch"), times: 2 });
    server.breakWatches("close");
    for (const value of ["2", "3", "4"]) write(server, "a", value);
    await until("the last event", () => handler.calls.length >= 3);
    assert.deepEqual(handler.take(), ["update a@2 a@4", "update a@4 a@5", "update a@5 a@6"]);
    assert.deepEqual(content(cache), truth(server));
    assert.equal(server.requests.count(fullLists), 0);
  });
}

test("continues from a bookmark where its own objects have been quiet", async () => {
  await using running = await synced();
  const { server, cache } = running;
  server.store.advance(100);
  server.bookmark();
  await until("the bookmark", () => cache.health.resourceVersion === "103");
  server.store.compact();
  server.breakWatches("close");
  await until("a new watch", () => server.openWatches === 1);
  assert.equal(server.requests.matching(on("watch"))[0]?.query.get("resourceVersion"), "103");
  assert.equal(server.requests.count(fullLists), 0);
  assert.deepEqual(running.handler.calls, []);
});

for (const where of ["on open", "in the stream"]) {
  test(`lists again, once, after 410 ${where}, and reports only what changed`, async () => {
    await using running = await synced();
    const { server, cache, handler } = running;
    const gone = where === "on open" ? ({ type: "status", status: 410 } as const) : ({ type: "gone" } as const);
    server.fault(gone, { on: on("watch") });
    server.breakWatches("close");
    remove(server, "b");
    write(server, "c", "1");
    await until("the new list", () => handler.calls.length >= 2 && server.openWatches === 1);
    assert.deepEqual(handler.take().sort(), ["add c@5", "gone b@3"]);
    assert.deepEqual(content(cache), truth(server));
    assert.equal(server.requests.count(fullLists), 1);
    assert.equal(server.requests.count(), 4);
  });
}

test("lists again when the server has forgotten where the cache stood", async () => {
  await using running = await synced();
  const { server, cache, handler } = running;
  server.breakWatches("reset");
  remove(server, "b");
  server.store.compact();
  await until("the new list", () => handler.calls.length >= 1 && server.openWatches === 1);
  assert.deepEqual(handler.take(), ["gone b@3"]);
  assert.deepEqual(content(cache), truth(server));
  assert.equal(server.requests.count(fullLists), 1);
});

test("a replaced object is a deletion and an addition", async () => {
  await using running = await synced();
  const { server, handler } = running;
  server.fault({ type: "gone" }, { on: on("watch") });
  server.breakWatches("close");
  remove(server, "a");
  write(server, "a", "new");
  server.store.compact();
  await until("the list", () => handler.calls.length >= 2 && server.openWatches === 1);
  assert.deepEqual(handler.take(), ["gone a@2", "add a@5"]);
});

for (const status of [401, 403, 429, 500, 503]) {
  test(`keeps its content while the server answers ${status}, says so, and recovers`, async () => {
    await using running = await synced({ timing: { ...quickTiming, stableMs: 20 } });
    const { server, cache, handler } = running;
    const retryAfterSeconds = status === 429 ? 0 : undefined;
    const lists = server.fault({ type: "status", status, retryAfterSeconds }, { on: on("list"), times: 3 });
    const watches = server.fault({ type: "status", status, retryAfterSeconds }, { on: on("watch"), times: 3 });
    server.breakWatches("reset");
    if (status !== 429)
      await until("the refusal shows", () => describeError(cache.health.lastError?.error).includes(`${status}`));
    assert.deepEqual(content(cache), ["a@2", "b@3"]);
    write(server, "a", "2");
    await until("the change", () => handler.calls.length >= 1);
    assert.deepEqual(handler.take(), ["update a@2 a@4"]);
    assert.deepEqual([lists.hits, watches.hits], [3, 3]);
    assert.equal(server.requests.count(fullLists), 0);
    assert.ok(server.requests.count() <= 12, `${server.requests.count()} requests`);
    await until("health is good", () => cache.health.lastError === undefined && cache.health.failures === 0);
  });
}

test("waits as long as the server asks for", async () => {
  await using running = await synced();
  const { server } = running;
  server.fault({ type: "status", status: 503, retryAfterSeconds: 1 }, { on: on("watch") });
  server.breakWatches("close");
  await until("the watch is back", () => server.openWatches === 1);
  const [refused, accepted] = server.requests.matching(on("watch"));
  assert.ok((accepted?.at ?? 0) - (refused?.at ?? 0) >= 990);
});

test("syncs at last when the first lists fail in every way", async () => {
  await using server = await FaultServer.start();
  for (const name of ["a", "b", "c"]) write(server, name, "1");
  server.fault({ type: "status", status: 403 }, { on: on("list") });
  server.fault({ type: "truncate" }, { on: on("list"), skip: 1 });
  server.fault({ type: "reset" }, { on: on("list"), skip: 2, times: 3 });
  server.fault({ type: "silence" }, { on: on("list"), skip: 5 });
  server.fault({ type: "status", status: 500 }, { on: on("list"), skip: 7 });
  await using running = runCache(server, { timing: { ...quickTiming, pageSize: 2, listTimeoutMs: 100 } });
  assert.equal(running.cache.hasSynced, false);
  await running.cache.waitForSync();
  assert.deepEqual(running.handler.take(), ["initial a@2", "initial b@3", "initial c@4"]);
  assert.deepEqual(content(running.cache), truth(server));
});

test("a page token that expires half-way starts the list again without repeating an object", async () => {
  await using server = await FaultServer.start();
  for (const name of ["a", "b", "c", "d"]) write(server, name, "1");
  const expiry = server.fault({ type: "expire-continue" }, { on: on("list"), skip: 1 });
  await using running = runCache(server, { timing: { ...quickTiming, pageSize: 2 } });
  await until("the token expired", () => expiry.hits === 1);
  // Tokens given out from here on are good again.
  server.store.advance();
  await running.cache.waitForSync();
  assert.deepEqual(running.handler.take(), ["initial a@2", "initial b@3", "initial c@4", "initial d@5"]);
  assert.ok(server.requests.count() <= 9, `${server.requests.count()} requests`);
});

test("asks for the list in one piece where page tokens never last", async () => {
  await using server = await FaultServer.start();
  for (const name of ["a", "b", "c"]) write(server, name, "1");
  const pages = { verb: "list", where: ({ query }: { query: URLSearchParams }) => query.has("continue") } as const;
  server.fault({ type: "status", status: 410 }, { on: pages, times: Number.POSITIVE_INFINITY });
  await using running = runCache(server, { timing: { ...quickTiming, pageSize: 2 } });
  await running.cache.waitForSync();
  assert.deepEqual(running.handler.take(), ["initial a@2", "initial b@3", "initial c@4"]);
  assert.equal(server.requests.count(on("list")), 5);
});

test("takes answers that arrive byte by byte, and cut in the middle of a character", async () => {
  await using running = await synced();
  const { server, cache, handler } = running;
  server.fault({ type: "split" }, { times: 2 });
  server.breakWatches("close");
  write(server, "a", "Fjörd — 峡湾 🌊".repeat(20));
  await until("the event", () => handler.calls.length >= 1);
  assert.equal(cache.get({ namespace: "default", name: "a" })?.data?.value, "Fjörd — 峡湾 🌊".repeat(20));
  server.fault({ type: "trickle", ms: 1 }, { times: 2 });
  server.breakWatches("close");
  write(server, "b", "峡湾");
  await until("the event", () => handler.calls.length >= 2);
  assert.deepEqual(handler.take(), ["update a@2 a@4", "update b@3 b@5"]);
  assert.deepEqual(content(cache), truth(server));
});

test("drops what it has seen before", async () => {
  await using running = await synced();
  const { server, cache, handler } = running;
  write(server, "c", "1");
  remove(server, "b");
  await until("the events", () => handler.calls.length >= 2);
  server.fault({ type: "duplicate" }, { on: on("watch") });
  server.breakWatches("close");
  write(server, "a", "2");
  remove(server, "c");
  await until("the last event", () => handler.calls.includes("delete c@7"));
  assert.deepEqual(handler.take(), ["add c@4", "delete b@5", "update a@2 a@6", "delete c@7"]);
  assert.deepEqual(content(cache), truth(server));
  assert.equal(server.requests.count(fullLists), 0);
});

test("comes back after the server was away", async () => {
  await using running = await synced();
  const { server, cache, handler } = running;
  await server.down();
  await until("the failure shows", () => cache.health.failures >= 3);
  assert.deepEqual(content(cache), ["a@2", "b@3"]);
  write(server, "a", "2");
  await server.up();
  await until("the change", () => handler.calls.length >= 1);
  assert.deepEqual(handler.take(), ["update a@2 a@4"]);
  assert.equal(server.requests.count(fullLists), 0);
});

test("a server restored to an older revision is believed", async () => {
  await using running = await synced();
  const { server, cache, handler } = running;
  const backup = server.store.snapshot();
  write(server, "a", "2");
  write(server, "c", "1");
  remove(server, "b");
  await until("the events", () => handler.calls.length >= 3);
  handler.take();
  await server.restart(backup);
  await until("the older state", () => handler.calls.length >= 3 && server.openWatches === 1);
  assert.deepEqual(handler.take(), ["update a@4 a@2", "add b@3", "gone c@5"]);
  write(server, "a", "3");
  await until("the event", () => handler.calls.length >= 1);
  assert.deepEqual(handler.take(), ["update a@2 a@4"]);
  assert.deepEqual(content(cache), truth(server));
});

/** Restores a backup from before `lost`, writes `kept` and more, so that the revision last seen is there again. */
async function overtake(running: Awaited<ReturnType<typeof synced>>, lost: () => void, kept: () => void) {
  const { server, handler } = running;
  const backup = server.store.snapshot();
  lost();
  await until("the events", () => handler.calls.length >= 1);
  handler.take();
  await server.down();
  server.store.restore(backup);
  kept();
  server.store.advance(50);
  await server.up();
  await until("the truth", () => handler.calls.length >= 1 && server.openWatches === 1);
  assert.deepEqual(content(running.cache), truth(server));
  assert.equal(server.requests.count(fullLists), 1);
  return handler.take();
}

test("a restored server is believed when its revision has overtaken the one last seen", async (t) => {
  await t.test("and an object came back", async () => {
    await using running = await synced();
    const { server } = running;
    const calls = await overtake(
      running,
      () => remove(server, "b"),
      () => {},
    );
    assert.deepEqual(calls, ["add b@3"]);
  });

  await t.test("and an object was never made", async () => {
    await using running = await synced();
    const { server } = running;
    const calls = await overtake(
      running,
      () => write(server, "c", "lost"),
      () => {},
    );
    assert.deepEqual(calls, ["gone c@4"]);
  });

  await t.test("and an object has the same revision with other content", async () => {
    await using running = await synced();
    const { server, cache } = running;
    const calls = await overtake(
      running,
      () => write(server, "a", "lost"),
      () => write(server, "a", "kept"),
    );
    assert.deepEqual(calls, ["update a@4 a@4"]);
    assert.equal(cache.get({ namespace: "default", name: "a" })?.data?.value, "kept");
  });
});

test("events that cannot follow from what it knows make it list again", async () => {
  // Nothing is compared after a break here, so that only the events can give the restored server away.
  await using running = await synced({ timing: { ...quickTiming, verifySize: 1 } });
  const { server, cache, handler } = running;
  const backup = server.store.snapshot();
  server.store.advance(10);
  server.bookmark();
  await until("the bookmark", () => cache.health.resourceVersion === "13");
  await server.down();
  server.store.restore(backup);
  write(server, "c", "1");
  server.store.advance(10);
  write(server, "c", "2");
  await server.up();
  await until("the truth", () => server.requests.count(fullLists) === 1 && server.openWatches === 1);
  assert.deepEqual(handler.take(), ["add c@15"]);
  assert.deepEqual(content(cache), truth(server));
});

test("a watch that is accepted but never answered is given up", async () => {
  await using running = await synced({ timing: { ...quickTiming, idleTimeoutMs: 1000 } });
  const { server, handler } = running;
  server.fault({ type: "delay", ms: 60_000 }, { on: on("watch") });
  server.breakWatches("close");
  write(server, "a", "2");
  await until("the event", () => handler.calls.length >= 1);
  assert.deepEqual(handler.take(), ["update a@2 a@4"]);
  assert.equal(server.requests.count(on("watch")), 2);
});
