import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { Deployment, defineKind, Namespace, Pod } from "../kinds/index.ts";
import { type Answer, reply, type TestServer, testServer, until } from "../transport/test-server.ts";
import { ApiError, isGone, isTooManyRequests } from "./api-error.ts";
import { KubeClient, type KubeClientOptions } from "./client.ts";
import type { ObjectList, WatchEvent } from "./interfaces.ts";

async function setUp(answer: Answer, options: KubeClientOptions = {}) {
  const server = await testServer(answer);
  const client = new KubeClient({ server: server.url, namespace: "home", tls: {} }, options);
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const web = { namespace: "default", name: "web" };
const pod = (name: string): Pod => ({ apiVersion: "v1", kind: "Pod", metadata: { name } });

/** What one watch gave, and what ended it. */
async function watched(
  events: AsyncIterable<WatchEvent<Pod>>,
): Promise<{ events: WatchEvent<Pod>[]; error?: unknown }> {
  const seen: WatchEvent<Pod>[] = [];
  try {
    for await (const event of events) seen.push(event);
    return { events: seen };
  } catch (error) {
    return { events: seen, error };
  }
}

function lines(response: ServerResponse, ...events: unknown[]): void {
  for (const event of events) response.write(`${JSON.stringify(event)}\n`);
}

function sent(server: TestServer): string[] {
  return server.requests.map(({ method, url }) => `${method} ${url}`);
}

test("looks in the configured namespace where none is given, and only for kinds that have one", async () => {
  await using t = await setUp((_, response) => reply(response, 200, pod("web")));
  await t.client.get(Pod, { name: "web" });
  await t.client.get(Pod, web);
  await t.client.get(Namespace, { name: "web" });
  await t.client.create(Pod, pod("web"));
  assert.deepEqual(sent(t.server), [
    "GET /api/v1/namespaces/home/pods/web",
    "GET /api/v1/namespaces/default/pods/web",
    "GET /api/v1/namespaces/web",
    "POST /api/v1/namespaces/home/pods",
  ]);
});

test("fills in the types that a server leaves out of a list, and keeps those it gives", async () => {
  const items = [{ metadata: { name: "a" } }, { apiVersion: "v0", kind: "Other", metadata: { name: "b" } }];
  await using t = await setUp((request, response) =>
    reply(response, 200, request.url.includes("empty") ? {} : { items }),
  );
  const list = await t.client.list(Pod, { labelSelector: "app=web", limit: 5 });
  assert.deepEqual(
    list.items.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
    ["v1 Pod", "v0 Other"],
  );
  assert.deepEqual((await t.client.list(Pod, { namespace: "empty" })).items, []);
  assert.equal(t.server.requests[0]?.url, "/api/v1/pods?labelSelector=app%3Dweb&limit=5");
});

test("says so when the answer is not JSON", async () => {
  await using t = await setUp((_, response) => void response.writeHead(200).end("<html>welcome</html>"));
  await assert.rejects(t.client.get(Pod, web), { name: "ConnectionError", message: /not JSON/ });
});

test("reads all pages, and goes on from the server's new token when the old one expired", async () => {
  const page = (names: string[], next?: string): Partial<ObjectList<unknown>> => ({
    metadata: { resourceVersion: "7", continue: next },
    items: names.map((name) => ({ metadata: { name } })),
  });
  await using t = await setUp((request, response) => {
    const token = new URL(request.url, "http://x").searchParams.get("continue");
    if (token === null) reply(response, 200, page(["a", "b"], "one"));
    else if (token === "one") {
      reply(response, 410, { kind: "Status", reason: "Expired", code: 410, metadata: { continue: "two" } });
    } else reply(response, 200, page(["c"]));
  });
  const names: (string | undefined)[] = [];
  for await (const { items } of t.client.listAll(Pod, { limit: 2, resourceVersion: "5" })) {
    names.push(...items.map(({ metadata }) => metadata.name));
  }
  assert.deepEqual(names, ["a", "b", "c"]);
  assert.deepEqual(sent(t.server), [
    "GET /api/v1/pods?resourceVersion=5&limit=2",
    "GET /api/v1/pods?limit=2&continue=one",
    "GET /api/v1/pods?limit=2&continue=two",
  ]);
});

test("throws an expired page where the server offers no way on", async () => {
  await using t = await setUp((_, response) => reply(response, 410, { kind: "Status", reason: "Expired" }));
  await assert.rejects(async () => {
    for await (const _ of t.client.listAll(Pod)) assert.fail("no page was expected");
  }, isGone);
});

test("watches with bookmarks until the server closes", async () => {
  await using t = await setUp((_, response) => {
    lines(response, { type: "ADDED", object: pod("a") }, { type: "MODIFIED", object: pod("🚢".repeat(50_000)) });
    lines(response, { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } });
    response.end();
  });
  const { events, error } = await watched(t.client.watch(Pod, { namespace: "default", resourceVersion: "5" }));
  assert.equal(error, undefined);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["ADDED", "MODIFIED", "BOOKMARK"],
  );
  assert.deepEqual(events[1]?.object, pod("🚢".repeat(50_000)));
  assert.deepEqual(sent(t.server), [
    "GET /api/v1/namespaces/default/pods?watch=true&resourceVersion=5&allowWatchBookmarks=true",
  ]);
});

test("a watch leaves managed fields out where nobody wants them", async () => {
  const managedFields = [{ manager: "kubectl", operation: "Update", fieldsV1: { "f:metadata": { "f:labels": {} } } }];
  const managed = { ...pod("a"), metadata: { ...pod("a").metadata, managedFields } };
  await using t = await setUp((_, response) => {
    lines(response, { type: "ADDED", object: managed }, { type: "ADDED", object: pod("b") });
    response.end();
  });
  const seen = async (omitManagedFields: boolean) =>
    (await watched(t.client.watch(Pod, { omitManagedFields }))).events.map(({ object }) => object);
  assert.deepEqual(await seen(true), [pod("a"), pod("b")]);
  assert.deepEqual(await seen(false), [managed, pod("b")]);
});

test("throws an ERROR event of a watch, after the events before it", async () => {
  await using t = await setUp((_, response) => {
    lines(response, { type: "ADDED", object: pod("a") });
    lines(response, { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } });
    response.end();
  });
  const { events, error } = await watched(t.client.watch(Pod));
  assert.equal(events.length, 1);
  assert.ok(isGone(error));
  assert.equal(error.message, "cannot watch Pod: too old (410 Expired)");
});

test("throws the refusal of a watch", async () => {
  const status = { kind: "Status", reason: "Forbidden", message: "not you", code: 403 };
  await using t = await setUp((_, response) => reply(response, 403, status));
  const { error } = await watched(t.client.watch(Pod));
  assert.ok(error instanceof ApiError);
  assert.equal(error.statusCode, 403);
});

test("a watch that breaks, or ends within an event, fails with a connection error", async () => {
  const ways: ((response: ServerResponse) => void)[] = [
    (response) => response.write('{"type":"ADD', () => response.socket?.resetAndDestroy()),
    (response) => response.end('{"type":"ADD'),
    (response) => response.end("{broken}\n"),
    (response) => response.socket?.destroy(),
  ];
  for (const way of ways) {
    await using t = await setUp((_, response) => {
      lines(response, { type: "ADDED", object: pod("a") });
      way(response);
    });
    const { error } = await watched(t.client.watch(Pod));
    assert.equal((error as Error).name, "ConnectionError", String(way));
  }
});

test("a watch fails rather than fill the memory with an event that never ends", async () => {
  const text = "x".repeat(1024 * 1024);
  await using t = await setUp((_, response) => {
    const more = () => void (response.destroyed || response.write(text, more));
    more();
  });
  const { error } = await watched(t.client.watch(Pod));
  assert.match(String(error), /an event is larger than/);
});

test("a watch fails when its peer falls silent, before or after the answer begins", async () => {
  for (const speaks of [false, true]) {
    await using t = await setUp((_, response) => {
      if (speaks) lines(response, { type: "ADDED", object: pod("a") });
    });
    const { events, error } = await watched(t.client.watch(Pod, { idleTimeoutMs: 50 }));
    assert.equal(events.length, speaks ? 1 : 0);
    assert.equal((error as Error).name, "ConnectionError");
  }
});

test("an aborted watch gives no event more, even one that has arrived", async () => {
  const added = { type: "ADDED", object: pod("a") };
  await using t = await setUp((_, response) => lines(response, added, added, added));
  const stop = new AbortController();
  const seen: string[] = [];
  await assert.rejects(
    async () => {
      for await (const { type } of t.client.watch(Pod, { signal: stop.signal })) {
        seen.push(type);
        stop.abort();
      }
    },
    { name: "AbortError" },
  );
  assert.deepEqual(seen, ["ADDED"]);
});

test("leaving a watch ends its connection", async () => {
  await using t = await setUp((_, response) => lines(response, { type: "ADDED", object: pod("a") }));
  for await (const event of t.client.watch(Pod)) {
    assert.equal(event.type, "ADDED");
    break;
  }
  await until(() => t.server.sockets[0]?.destroyed === true);
});

test("sends each kind of patch under its own type", async () => {
  await using t = await setUp((_, response) => reply(response, 200, pod("web")));
  await t.client.patch(Pod, web, "json", [{ op: "remove", path: "/spec" }], { dryRun: true });
  await t.client.patch(Pod, web, "merge", {}, { subresource: "status", fieldManager: "me" });
  await t.client.patch(Pod, web, "strategic", {});
  await t.client.apply(Pod, { metadata: web, spec: { nodeName: "n" } }, { fieldManager: "me", force: true });
  assert.deepEqual(
    t.server.requests.map(({ url, headers }) => `${headers["content-type"]} ${url}`),
    [
      "application/json-patch+json /api/v1/namespaces/default/pods/web?dryRun=All",
      "application/merge-patch+json /api/v1/namespaces/default/pods/web/status?fieldManager=me",
      "application/strategic-merge-patch+json /api/v1/namespaces/default/pods/web",
      "application/apply-patch+yaml /api/v1/namespaces/default/pods/web?fieldManager=me&force=true",
    ],
  );
  assert.deepEqual(JSON.parse(t.server.requests[3]?.body ?? ""), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: web,
    spec: { nodeName: "n" },
  });
});

test("takes a refused eviction for an answer and does not ask again", async () => {
  const status = { kind: "Status", reason: "TooManyRequests", message: "budget", code: 429 };
  await using t = await setUp((_, response) => reply(response, 429, status, { "retry-after": "10" }));
  await assert.rejects(t.client.evict(web, { gracePeriodSeconds: 5 }), (error) => {
    assert.ok(isTooManyRequests(error));
    assert.equal(error.details.retryAfterSeconds, 10);
    return true;
  });
  assert.equal(t.server.requests.length, 1);
  assert.equal(JSON.parse(t.server.requests[0]?.body ?? "").deleteOptions.gracePeriodSeconds, 5);
});

test("streams a log as it is written", async () => {
  let response: ServerResponse | undefined;
  await using t = await setUp((_, answer) => {
    response = answer.writeHead(200);
    answer.write("one\n");
  });
  const log = t.client.log(web, { follow: true, container: "main", tailLines: 3, timestamps: true });
  assert.equal((await log.next()).value?.toString(), "one\n");
  response?.write("two\n");
  assert.equal((await log.next()).value?.toString(), "two\n");
  response?.end();
  assert.equal((await log.next()).done, true);
  assert.deepEqual(sent(t.server), [
    "GET /api/v1/namespaces/default/pods/web/log?follow=true&container=main&tailLines=3&timestamps=true",
  ]);
});

test("passes the server's warnings on", async () => {
  const warnings: string[] = [];
  const onWarning = (text: string, action: string) => warnings.push(`${action}: ${text}`);
  const warning = '299 - "v1beta1 is \\"old\\"", 299 - "unknown field"';
  await using t = await setUp((_, response) => reply(response, 200, pod("web"), { warning }), { onWarning });
  await t.client.get(Pod, web);
  assert.deepEqual(warnings, ['get Pod default/web: v1beta1 is "old"', "get Pod default/web: unknown field"]);
});

test("impersonates over the same connections", async () => {
  await using t = await setUp((_, response) => reply(response, 200, pod("web")));
  await t.client.get(Pod, web);
  const ann = t.client.impersonating({ user: "ann", groups: ["a", "b"] });
  await ann.get(Pod, web);
  assert.equal(t.server.requests[0]?.headers["impersonate-user"], undefined);
  assert.equal(t.server.requests[1]?.headers["impersonate-user"], "ann");
  assert.equal(t.server.requests[1]?.headers["impersonate-group"], "a, b");
  assert.equal(ann.transport, t.client.transport);
});

test("types follow the kind", async () => {
  await using t = await setUp((_, response) => reply(response, 200, pod("web")));
  const boats = defineKind("example.com/v1", "Boat", "boats");
  const boat = await t.client.get(boats, web);
  const anything: unknown = boat.spec;
  const typed = await t.client.get(Pod, web);
  const phase: string | undefined = typed.status?.phase;
  assert.deepEqual([anything, phase], [undefined, undefined]);
  // @ts-expect-error a Pod is no Deployment
  await t.client.create(Deployment, pod("web"));
  // @ts-expect-error containers are a list
  await t.client.create(Pod, { ...pod("web"), spec: { containers: "none" } });
});
