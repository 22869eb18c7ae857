import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { FaultServer } from "./fault-server.ts";

const pods: Kind = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const deployments: Kind = { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true };

interface Answer {
  status: number;
  body: {
    metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number; name?: string; uid?: string };
    items?: { metadata: { name: string } }[];
    reason?: string;
    details?: { causes?: { reason: string }[] };
  };
}

async function call(server: FaultServer, path: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(server.url + path, init);
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

function names({ body }: Answer): string[] {
  return body.items?.map(({ metadata }) => metadata.name) ?? [];
}

/** The events of a watch as `TYPE name@version`, until it ends or as many have come. */
async function events(server: FaultServer, query: string, count = Number.POSITIVE_INFINITY): Promise<string[]> {
  const left = new AbortController();
  const response = await fetch(`${server.url}/api/v1/pods?watch=true&${query}`, { signal: left.signal });
  const found: string[] = [];
  let rest = "";
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { type, object } = JSON.parse(line);
      found.push(
        type === "ERROR"
          ? `ERROR ${object.code}`
          : `${type} ${object.metadata.name ?? ""}@${object.metadata.resourceVersion}`,
      );
    }
    if (found.length >= count) break;
  }
  left.abort();
  return rest === "" ? found : [...found, `cut: ${rest}`];
}

function pod(name: string, labels: Record<string, string> = {}) {
  return { metadata: { name, namespace: "default", labels } };
}

test("creates, reads, updates and deletes over HTTP, with conflicts", async () => {
  await using server = await FaultServer.start();
  const path = "/apis/apps/v1/namespaces/default/deployments";
  const send = (method: string, to: string, body: unknown) =>
    call(server, to, { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const created = await send("POST", path, { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" } });
  assert.equal(created.status, 201);
  assert.equal(created.body.metadata.resourceVersion, "2");
  assert.equal((await send("POST", path, { metadata: { name: "web" } })).body.reason, "AlreadyExists");
  const stale = { metadata: { name: "web", resourceVersion: "1" } };
  assert.equal((await send("PUT", `${path}/web`, stale)).status, 409);
  const fresh = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", resourceVersion: "2" } };
  assert.equal((await send("PUT", `${path}/web`, fresh)).body.metadata.uid, created.body.metadata.uid);
  assert.equal(server.list(deployments).length, 1);
  assert.equal((await send("DELETE", `${path}/web`, {})).status, 200);
  assert.equal((await call(server, `${path}/web`)).status, 404);
  assert.equal(server.store.revision, 4);
});

test("an object with finalizers is marked, and goes with the last of them", async () => {
  await using server = await FaultServer.start();
  server.create(pods, { metadata: { name: "a", namespace: "default", finalizers: ["fjord.dev/test"] } });
  server.delete(pods, { name: "a", namespace: "default" });
  assert.notEqual(server.list(pods)[0]?.metadata.deletionTimestamp, undefined);
  server.update(pods, pod("a"));
  assert.deepEqual(server.list(pods), []);
});

test("pages show one revision, whatever is written between them, until it is compacted", async () => {
  await using server = await FaultServer.start();
  for (const name of ["a", "b", "c", "d", "e"]) server.create(pods, pod(name));
  const first = await call(server, "/api/v1/pods?limit=2");
  assert.deepEqual([names(first), first.body.metadata.remainingItemCount], [["a", "b"], 3]);
  server.delete(pods, { name: "c", namespace: "default" });
  const next = `/api/v1/pods?limit=2&continue=${first.body.metadata.continue}`;
  const second = await call(server, next);
  assert.deepEqual(names(second), ["c", "d"]);
  assert.equal(second.body.metadata.resourceVersion, "6");
  server.store.compact();
  assert.deepEqual([(await call(server, next)).status, (await call(server, next)).body.reason], [410, "Expired"]);
});

test("a list at a version gives that version, or says why it cannot", async () => {
  await using server = await FaultServer.start();
  server.create(pods, pod("a"));
  server.create(pods, pod("b"));
  const at = (version: number, match: string) =>
    call(server, `/api/v1/namespaces/default/pods?resourceVersion=${version}&resourceVersionMatch=${match}`);
  assert.deepEqual(names(await at(2, "Exact")), ["a"]);
  assert.deepEqual(names(await at(2, "NotOlderThan")), ["a", "b"]);
  for (const match of ["Exact", "NotOlderThan"]) {
    const { status, body } = await at(9, match);
    assert.deepEqual([status, body.details?.causes?.[0]?.reason], [504, "ResourceVersionTooLarge"]);
  }
  server.store.compact();
  assert.equal((await at(2, "Exact")).status, 410);
});

test("a watch gives what came after its version, as its selector sees it", async () => {
  await using server = await FaultServer.start();
  server.create(pods, pod("a", { tier: "edge" }));
  server.create(pods, pod("b", { tier: "cloud" }));
  server.update(pods, pod("b", { tier: "edge" }));
  server.update(pods, pod("a", { tier: "cloud" }));
  server.delete(pods, { name: "b", namespace: "default" });
  assert.deepEqual(await events(server, "resourceVersion=2", 4), [
    "ADDED b@3",
    "MODIFIED b@4",
    "MODIFIED a@5",
    "DELETED b@6",
  ]);
  assert.deepEqual(await events(server, "resourceVersion=2&labelSelector=tier%3Dedge", 3), [
    "ADDED b@4",
    "DELETED a@5",
    "DELETED b@6",
  ]);
  assert.deepEqual(await events(server, "resourceVersion=2&fieldSelector=metadata.name%3Da", 1), ["MODIFIED a@5"]);
  server.store.compact();
  assert.deepEqual(await events(server, "resourceVersion=2"), ["ERROR 410"]);
});

test("a watch of a version that lies ahead is silent until it is passed", async () => {
  await using server = await FaultServer.start();
  const watching = events(server, "resourceVersion=10&allowWatchBookmarks=true", 1);
  while (server.openWatches === 0) await new Promise((resolve) => setImmediate(resolve));
  server.create(pods, pod("a"));
  server.bookmark();
  server.store.advance(10);
  server.create(pods, pod("b"));
  assert.deepEqual(await watching, ["ADDED b@13"]);
});

test("bookmarks come with the clock, and a watch ends after the time it asked for", async () => {
  const clock = new ManualClock();
  await using server = await FaultServer.start({ clock });
  const watching = events(server, "resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=90");
  while (server.openWatches === 0) await new Promise((resolve) => setImmediate(resolve));
  server.store.advance(4);
  await clock.advance(91_000);
  assert.deepEqual(await watching, ["BOOKMARK @5"]);
});

test("faults strike the requests they were set for, as often as asked", async () => {
  await using server = await FaultServer.start();
  server.create(pods, pod("a"));
  const fault = server.fault(
    { type: "status", status: 503 },
    { on: { verb: "list", resource: "pods" }, times: 2, skip: 1 },
  );
  const statuses: number[] = [];
  for (let at = 0; at < 4; at++) statuses.push((await call(server, "/api/v1/pods")).status);
  assert.deepEqual(statuses, [200, 503, 503, 200]);
  assert.equal(fault.hits, 2);
  assert.equal((await call(server, "/api/v1/namespaces/default/pods/a")).status, 200);
  assert.equal(server.requests.count({ verb: "list" }), 4);
  assert.equal(server.requests.count({ verb: "get", namespace: "default" }), 1);
  server.fault({ type: "reset" }, { times: 2 });
  await assert.rejects(call(server, "/api/v1/pods"));
  server.heal();
  assert.equal((await call(server, "/api/v1/pods")).status, 200);
});

test("a watch is cut, doubled or ended after so many events", async () => {
  await using server = await FaultServer.start();
  for (const name of ["a", "b", "c"]) server.create(pods, pod(name));
  const watch = { on: { verb: "watch" } } as const;
  server.fault({ type: "close", afterEvents: 2 }, watch);
  assert.deepEqual(await events(server, "resourceVersion=1"), ["ADDED a@2", "ADDED b@3"]);
  server.fault({ type: "gone", afterEvents: 1 }, watch);
  assert.deepEqual(await events(server, "resourceVersion=1"), ["ADDED a@2", "ERROR 410"]);
  server.fault({ type: "truncate", afterEvents: 1 }, watch);
  assert.match((await events(server, "resourceVersion=1")).at(-1) ?? "", /^cut: \{"type":"ADDED"/);
  server.fault({ type: "duplicate" }, watch);
  assert.deepEqual(await events(server, "resourceVersion=3", 6), [
    "ADDED a@2",
    "ADDED a@2",
    "ADDED b@3",
    "ADDED b@3",
    "ADDED c@4",
    "ADDED c@4",
  ]);
  server.fault({ type: "split" }, watch);
  assert.deepEqual(await events(server, "resourceVersion=1", 3), ["ADDED a@2", "ADDED b@3", "ADDED c@4"]);
  server.fault({ type: "reset", afterEvents: 1 }, watch);
  await assert.rejects(events(server, "resourceVersion=1"));
  server.store.compact(3);
  server.fault({ type: "duplicate" }, watch);
  assert.deepEqual(await events(server, "resourceVersion=2"), ["ERROR 410"]);
});

test("a restart with a backup takes objects and revisions back", async () => {
  await using server = await FaultServer.start();
  server.create(pods, pod("a"));
  const { url } = server;
  const backup = server.store.snapshot();
  server.create(pods, pod("b"));
  await server.restart(backup);
  assert.equal(server.url, url);
  const list = await call(server, "/api/v1/pods");
  assert.deepEqual([names(list), list.body.metadata.resourceVersion], [["a"], "2"]);
});
