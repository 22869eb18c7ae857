import assert from "node:assert/strict";
import { test } from "node:test";
import { aborted, type LogFields, type Logger, seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError } from "../client/api-error.ts";
import type { ListOptions, ListWatcher, ObjectList, WatchOptions } from "../client/interfaces.ts";
import { Cache, type CacheOptions } from "./cache.ts";
import { type ConfigMap, configMaps, RecordingHandler } from "./cache-harness.ts";

// Answers that no Kubernetes gives, and own code that throws: neither may stop a cache, nor make it hammer the server.

const object = (name: string, version: number, more: object = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", uid: name, resourceVersion: String(version) },
  ...more,
});

interface Script {
  list?: (options: ListOptions) => unknown;
  events?: unknown[];
  options?: Partial<CacheOptions<ConfigMap>>;
}

/** A cache over a client that answers as told; each watch sends the events, and then stays open. */
function start({ list, events = [], options = {} }: Script) {
  const clock = new ManualClock();
  const counts = { lists: 0, watches: 0, positions: [] as (string | undefined)[] };
  const errors: { message: string; fields: LogFields | undefined }[] = [];
  const logger: Logger = { ...silentLogger, error: (message, fields) => void errors.push({ message, fields }) };
  const client = {
    async list(_kind: unknown, given: ListOptions) {
      counts.lists++;
      const answer = list?.(given) ?? [object("a", 4), object("b", 5)];
      return Array.isArray(answer) ? { metadata: { resourceVersion: "10" }, items: answer } : answer;
    },
    async *watch(_kind: unknown, { signal, resourceVersion }: WatchOptions) {
      counts.watches++;
      counts.positions.push(resourceVersion);
      for (const event of events.splice(0)) yield structuredClone(event);
      if (signal !== undefined) await aborted(signal);
    },
  } as unknown as ListWatcher;
  const cache = new Cache<ConfigMap>({
    client,
    kind: configMaps,
    clock,
    random: seededRandom(1),
    logger,
    ...options,
  });
  const handler = new RecordingHandler<ConfigMap>();
  cache.addHandler(handler);
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  let ended = false;
  running.then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  return {
    cache,
    clock,
    counts,
    errors,
    handler,
    stop,
    running,
    get ended() {
      return ended;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

function page(items: ConfigMap[], token: string): ObjectList<ConfigMap> {
  return { metadata: { resourceVersion: "10", continue: token }, items } as unknown as ObjectList<ConfigMap>;
}

function refusal(details: unknown): ApiError {
  return new ApiError({ action: "list", statusCode: 503, status: { kind: "Status", details: details as object } });
}

test("an object nested deeper than the stack is kept like any other, and breaks are survived", async () => {
  const deep = () => object("deep", 6, { data: JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`) });
  const events = [{ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } }];
  await using running = start({ list: () => [object("a", 4), deep()], events });
  await running.clock.advance(60_000);
  assert.equal(running.cache.size, 2);
  assert.deepEqual(running.handler.calls, ["initial a@4", "initial deep@6"]);
  assert.equal(running.counts.lists, 2, "listed again, after the bookmark that went back");
  assert.equal(running.cache.health.failures, 0);
});

test("an object that the transform cannot take is kept as it is, logged once, and shows in health", async () => {
  const transform = (taken: ConfigMap): ConfigMap => {
    if (taken.metadata.name === "a") throw new Error("cannot read this");
    if (taken.metadata.name === "b") return undefined as unknown as ConfigMap;
    return { ...taken, data: { trimmed: "yes" } };
  };
  const events = [
    { type: "ADDED", object: object("c", 11) },
    { type: "MODIFIED", object: object("a", 12) },
    { type: "DELETED", object: object("b", 13) },
  ];
  await using running = start({ events, options: { transform } });
  await running.clock.advance(0);
  assert.equal(running.cache.hasSynced, true);
  assert.deepEqual(running.handler.calls, ["initial a@4", "initial b@5", "add c@11", "update a@4 a@12", "delete b@13"]);
  assert.equal(running.cache.get({ name: "c", namespace: "default" })?.data?.trimmed, "yes");
  assert.equal(running.cache.health.untransformed, 1);
  assert.deepEqual(
    running.errors.map(({ fields }) => fields?.key),
    ["default/a", "default/b"],
  );
});

test("an indexer that throws once or gives nonsense loses no event, and the index stays true", async () => {
  let calls = 0;
  const indexers = {
    flaky: (indexed: ConfigMap) => {
      if (++calls % 2 === 0) throw new Error("every other time");
      return [indexed.metadata.name ?? ""];
    },
    none: () => undefined as unknown as string[],
  };
  const events = [
    { type: "MODIFIED", object: object("b", 11) },
    { type: "DELETED", object: object("a", 12) },
    { type: "ADDED", object: object("c", 13) },
    { type: "DELETED", object: object("c", 14) },
  ];
  await using running = start({ events, options: { indexers } });
  await running.clock.advance(0);
  assert.deepEqual(running.handler.calls, [
    "initial a@4",
    "initial b@5",
    "update b@5 b@11",
    "delete a@12",
    "add c@13",
    "delete c@14",
  ]);
  assert.deepEqual(running.cache.byIndex("flaky", "a"), []);
  assert.deepEqual(running.cache.byIndex("flaky", "c"), []);
  for (const found of running.cache.byIndex("flaky", "b")) assert.equal(found.metadata.resourceVersion, "11");
  assert.ok(running.errors.every(({ message }) => message === "cannot index an object"));
});

const fail = () => {
  throw new Error("evil");
};
const strange: [string, unknown][] = [
  ["causes that are no list", refusal({ causes: { a: 1 } })],
  ["causes of nothing", refusal({ causes: [null, 7] })],
  ["details that are no object", refusal("details")],
  ["a wait in words", refusal({ retryAfterSeconds: "abc" })],
  ["a wait for ever", refusal({ retryAfterSeconds: Number.POSITIVE_INFINITY })],
  ["a wait of 30 years", refusal({ retryAfterSeconds: 1e9 })],
  ["a wait into the past", refusal({ retryAfterSeconds: -1e9 })],
  ["a wait of NaN", refusal({ retryAfterSeconds: Number.NaN })],
  ["the word that it is out of date", new ApiError({ action: "list", statusCode: 410, status: { reason: "Expired" } })],
  ["nothing", undefined],
  ["a symbol", Symbol("x")],
  ["an object without a text", Object.create(null)],
  [
    "an object that throws when read",
    {
      toString: fail,
      get message() {
        return fail();
      },
    },
  ],
  [
    "a proxy that throws at everything",
    new Proxy({}, Object.fromEntries(Reflect.ownKeys(Reflect).map((trap) => [trap, fail]))),
  ],
];

for (const [what, thrown] of strange) {
  test(`a list that fails with ${what} is tried again, neither at once nor never`, async () => {
    let broken = true;
    await using running = start({
      list: () => {
        if (broken) throw thrown;
        return undefined;
      },
    });
    for (let minute = 0; minute < 20; minute++) await running.clock.advance(60_000);
    assert.equal(running.ended, false);
    assert.ok(running.counts.lists >= 4 && running.counts.lists < 100, `${running.counts.lists} lists in 20 minutes`);
    assert.ok(running.cache.health.failures > 0);
    broken = false;
    await running.clock.advance(400_000);
    assert.equal(running.cache.hasSynced, true);
  });
}

test("page tokens that repeat end the list, and at last it is asked for in one piece", async () => {
  await using running = start({
    list: ({ limit }) => (limit === undefined ? [object("a", 4)] : page([object("a", 4)], "same")),
  });
  await running.clock.advance(0);
  assert.equal(running.counts.lists, 2);
  assert.match(String(running.cache.health.lastError?.error), /a page token came twice/);
  await running.clock.advance(60_000);
  assert.equal(running.cache.hasSynced, true);
  assert.equal(running.cache.health.failures, 0);
});

test("pages without end that hold nothing new are given up; some of them are not", async () => {
  let pages = 0;
  await using endless = start({ list: () => page([object("a", 4)], `token-${pages++}`) });
  await endless.clock.advance(0);
  await endless.clock.advance(600_000);
  assert.ok(endless.counts.lists < 110 * 50, `${endless.counts.lists} lists in ten minutes`);
  assert.match(String(endless.cache.health.lastError?.error), /pages in a row held nothing new/);
  let left = 50;
  await using sparse = start({ list: () => (left-- > 0 ? page([], `token-${left}`) : undefined) });
  await sparse.clock.advance(10_000);
  assert.equal(sparse.cache.size, 2);
  assert.equal(sparse.cache.health.failures, 0);
});

test("page tokens that fill memory by themselves are given up", async () => {
  let pages = 0;
  await using long = start({
    list: () => page([object(`a-${pages}`, 4)], `${pages++}${"x".repeat(1_000_000)}`),
    options: { timing: { backoffInitialMs: 1_000 } },
  });
  await long.clock.advance(10_000);
  assert.ok(long.counts.lists < 50, `${long.counts.lists} lists`);
  assert.match(String(long.cache.health.lastError?.error), /a page token is too long/);
  await using many = start({
    list: () => page([object(`a-${pages}`, 4)], `${pages++}`),
    options: { timing: { backoffInitialMs: 1_000_000, backoffMaxMs: 1_000_000 } },
  });
  await many.clock.advance(0);
  while (many.cache.health.lastError === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.match(String(many.cache.health.lastError?.error), /over 20000 pages/);
});

test("a bookmark without a version changes nothing, and an event without one is not trusted", async () => {
  const bare = { ...object("c", 0), metadata: { name: "c", namespace: "default", uid: "c" } };
  const events = [
    { type: "BOOKMARK", object: { metadata: {} } },
    { type: "ADDED", object: bare },
  ];
  await using running = start({ events });
  await running.clock.advance(60_000);
  assert.deepEqual(running.counts.positions, ["10", "10"]);
  assert.equal(running.cache.health.resourceVersion, "10");
  assert.equal(running.cache.size, 2);
});

test("a cache runs once at a time", async () => {
  await using running = start({});
  await running.clock.advance(0);
  await assert.rejects(running.cache.run(running.stop.signal), { code: "KUBE_CACHE_RUNNING" });
  assert.equal(running.counts.watches, 1);
  running.stop.abort();
  await running.running;
  const again = new AbortController();
  const second = running.cache.run(again.signal);
  again.abort();
  await second;
});

test("who asks for failures hears of each, and may throw", async () => {
  const heard: unknown[] = [];
  const onFailure = (error: unknown) => {
    heard.push(error);
    throw new Error("not now");
  };
  const failure = refusal(undefined);
  let failing = true;
  const list = () => {
    if (failing) throw failure;
    return undefined;
  };
  await using running = start({ list, options: { onFailure } });
  await running.clock.advance(10_000);
  assert.ok(heard.length > 1 && heard.every((each) => each === failure));
  assert.equal(running.errors.length, heard.length);
  failing = false;
  await running.clock.advance(60_000);
  assert.equal(running.cache.size, 2);
});
