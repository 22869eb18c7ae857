import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { type ConfigMap, configMaps, RecordingHandler } from "./cache-harness.ts";
import { HandlerSet } from "./handlers.ts";
import { heapUsed } from "./heap-used.ts";
import { byLabel, byOwner } from "./indexers.ts";
import { Mirror } from "./mirror.ts";
import { Store } from "./store.ts";

function make() {
  const store = new Store<ConfigMap>({ owner: byOwner, run: byLabel("run") });
  const handlers = new HandlerSet<ConfigMap>(silentLogger);
  const handler = new RecordingHandler<ConfigMap>();
  return { store, handler, handlers, mirror: new Mirror(configMaps, store, handlers, silentLogger) };
}

function object(name: string, version: number, uid = `uid-of-${name}`): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", uid, resourceVersion: String(version) },
  };
}

test("says of each event whether it follows from what is there", () => {
  const { mirror, handler, handlers } = make();
  handlers.add(handler);
  const list = mirror.beginList();
  list.page([object("a", 1), object("b", 2)]);
  list.end();
  assert.equal(mirror.apply("ADDED", object("c", 3)), true);
  assert.equal(mirror.apply("MODIFIED", object("c", 4)), true);
  assert.equal(mirror.apply("MODIFIED", object("c", 4)), true);
  assert.equal(mirror.apply("DELETED", object("c", 5)), true);
  assert.equal(mirror.apply("DELETED", object("c", 6)), false);
  assert.equal(mirror.apply("MODIFIED", object("d", 7)), false);
  assert.equal(mirror.apply("ADDED", object("a", 8)), false);
  assert.equal(mirror.apply("MODIFIED", object("b", 9, "another")), false);
  assert.equal(mirror.apply("DELETED", object("a", 10, "another")), false);
  assert.deepEqual(handler.calls, [
    "initial a@1",
    "initial b@2",
    "add c@3",
    "update c@3 c@4",
    "delete c@5",
    "add d@7",
    "update a@1 a@8",
    "gone b@2",
    "add b@9",
    "gone a@8",
  ]);
});

test("looks for what objects have in common in those that are kept, not in one that goes", () => {
  const { mirror, store, handlers } = make();
  const gone: ConfigMap[] = [];
  handlers.add({ onDelete: (object) => void gone.push(object) });
  const labels = () => ({ "app.kubernetes.io/name": "a-name-of-some-length" });
  const labelled = (version: number) => {
    const { metadata, ...rest } = object("a", version);
    return { ...rest, metadata: { ...metadata, labels: labels() } };
  };
  mirror.apply("ADDED", labelled(1));
  const first = store.at("default/a");
  mirror.apply("MODIFIED", labelled(2));
  assert.equal(
    store.at("default/a")?.metadata.labels,
    first?.metadata.labels,
    "one that has changed keeps what has not",
  );
  const last = labelled(3);
  const { labels: own } = last.metadata;
  mirror.apply("DELETED", last);
  assert.deepEqual(gone[0]?.metadata.labels, labels());
  assert.equal(gone[0]?.metadata.labels, own);
});

test("agrees with the list it holds, or with the first page of it, and with no other", () => {
  const { mirror } = make();
  const list = mirror.beginList();
  const all = () => [object("a", 1), object("b", 2), object("c", 3)];
  list.page(all());
  list.end();
  assert.equal(mirror.agrees(all(), true), true);
  assert.equal(mirror.agrees(all().slice(0, 2), false), true);
  assert.equal(mirror.agrees(all().slice(0, 2), true), false);
  assert.equal(mirror.agrees([object("a", 1), object("c", 3)], false), false);
  assert.equal(mirror.agrees([...all(), object("d", 4)], true), false);
  assert.equal(mirror.agrees([object("a", 1), object("b", 9), object("c", 3)], true), false);
  assert.equal(mirror.agrees([{ ...object("a", 1), data: { other: "content" } }], false), false);
});

test("memory stays flat however much objects change, come and go", () => {
  const { mirror, store } = make();
  let version = 0;
  const churn = (count: number) => {
    for (let at = 0; at < count; at++) {
      const fresh = object(`churned-object-${at % 200}`, ++version);
      const owner = { apiVersion: "v1", kind: "Node", name: "x", uid: `owner-uid-number-${version}` };
      fresh.metadata.ownerReferences = [owner];
      fresh.metadata.labels = { run: `value-of-label-${version}` };
      mirror.apply(at % 3 === 0 ? "DELETED" : "MODIFIED", fresh);
    }
  };
  churn(20_000);
  const before = heapUsed();
  churn(60_000);
  const grown = heapUsed() - before;
  assert.ok(store.size <= 200);
  assert.ok(grown < 1e6, `grew by ${grown} bytes`);
});
