import assert from "node:assert/strict";
import { test } from "node:test";
import { aborted, seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { ListOptions, ListWatcher, WatchOptions } from "../client/interfaces.ts";
import { Cache } from "./cache.ts";
import { type ConfigMap, configMaps, RecordingHandler } from "./cache-harness.ts";
import { CacheRoom } from "./cache-room.ts";

// A server that is not trusted may send what it likes, for as long as it likes: it takes the room that it has, and no more.

const ROOM = 100_000;

const object = (name: string, version: number, bytes = 100): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", uid: name, resourceVersion: String(version) },
  data: { text: "x".repeat(bytes) },
});

interface Server {
  list(options: ListOptions): { items: ConfigMap[]; token?: string };
  events(): Iterable<unknown>;
}

function start(server: Partial<Server>, room = new CacheRoom(ROOM)) {
  const clock = new ManualClock();
  const counts = { lists: 0, events: 0 };
  const client = {
    room,
    async list(_kind: unknown, options: ListOptions) {
      counts.lists++;
      const { items, token } = server.list?.(options) ?? { items: [object("a", 4), object("b", 5)] };
      return { metadata: { resourceVersion: "10", continue: token }, items };
    },
    async *watch(_kind: unknown, { signal }: WatchOptions) {
      for (const event of server.events?.() ?? []) {
        counts.events++;
        yield structuredClone(event);
      }
      if (signal !== undefined) await aborted(signal);
    },
  } as unknown as ListWatcher;
  const handler = new RecordingHandler<ConfigMap>();
  const cache = new Cache<ConfigMap>({
    client,
    kind: configMaps,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  cache.addHandler(handler);
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  return {
    cache,
    clock,
    counts,
    handler,
    room,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test("a list that always has another page of something new is given up, and leaves nothing", async () => {
  let made = 0;
  await using running = start({
    list: () => ({ items: Array.from({ length: 50 }, () => object(`n-${made++}`, made)), token: `t-${made}` }),
  });
  await running.clock.advance(60_000);
  assert.match(String(running.cache.health.lastError?.error), /may take 1 MiB together/);
  assert.deepEqual([running.cache.size, running.room.taken, running.cache.hasSynced], [0, 0, false]);
  // A list that is too large is as good a reason to wait as any other.
  assert.ok(made < 50 * 400, `${made} objects were asked for in a minute`);
});

test("a watch that adds without end is given up at the limit, and what a list shows is kept", async () => {
  let made = 0;
  await using running = start({
    *events() {
      for (; made < 100_000; made++) yield { type: "ADDED", object: object(`n-${made}`, 11 + made) };
    },
  });
  await running.clock.advance(0);
  assert.ok(running.counts.events < 2_000, `${running.counts.events} events were taken`);
  assert.ok(running.room.taken <= ROOM, `${running.room.taken} bytes are taken`);
  assert.equal(running.cache.hasSynced, true);
  assert.ok(running.cache.get({ namespace: "default", name: "a" }));
});

test("an object that grows is measured anew, and one that goes gives its room back", async () => {
  const steps = [
    { type: "MODIFIED", object: object("a", 11, 40_000) },
    { type: "MODIFIED", object: object("a", 12, 80_000) },
    { type: "DELETED", object: object("a", 13, 80_000) },
    { type: "ADDED", object: object("c", 14, 80_000) },
    { type: "MODIFIED", object: object("c", 15, 10) },
    { type: "DELETED", object: object("c", 16, 10) },
    { type: "DELETED", object: object("b", 17) },
  ];
  await using running = start({ events: () => steps.splice(0) });
  await running.clock.advance(0);
  assert.equal(running.counts.lists, 1);
  assert.deepEqual([running.cache.size, running.room.taken], [0, 0]);
});

test("what was too much is taken over once it is less, and nothing of before is lost meanwhile", async () => {
  let large = false;
  await using running = start({
    list: () => ({ items: large ? [object("a", 20, ROOM)] : [object("a", 4), object("b", 5)] }),
    *events() {
      if (running.counts.lists > 1) return;
      large = true;
      yield { type: "MODIFIED", object: object("a", 20, ROOM) };
    },
  });
  await running.clock.advance(60_000);
  assert.ok(running.counts.lists > 2, `${running.counts.lists} lists in a minute`);
  assert.match(String(running.cache.health.lastError?.error), /may take/);
  assert.equal(running.cache.get({ namespace: "default", name: "a" })?.metadata.resourceVersion, "4");
  assert.ok(!running.handler.calls.some((call) => call.startsWith("delete") || call.startsWith("gone")));
  large = false;
  await running.clock.advance(60_000);
  assert.equal(running.cache.health.lastError, undefined);
  assert.equal(running.cache.size, 2);
});

test("caches of one server share the room, and what one holds is no other's", async () => {
  const room = new CacheRoom(ROOM);
  await using first = start({ list: () => ({ items: [object("a", 4, 70_000)] }) }, room);
  await first.clock.advance(0);
  await using second = start({ list: () => ({ items: [object("b", 4, 70_000)] }) }, room);
  await second.clock.advance(0);
  assert.deepEqual([first.cache.hasSynced, second.cache.hasSynced], [true, false]);
  assert.ok(room.taken <= ROOM);
});
