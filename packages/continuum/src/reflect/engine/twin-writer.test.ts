import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DynamicObject, defineKind, type EndpointSlice } from "@fjord/kube";
import fc from "fast-check";
import { SILENCED_ANNOTATION, silenced, toldEndpoints } from "../../silenced-endpoints.ts";
import { endpointSlices } from "../kinds/endpoint-slice.ts";
import { contextOf } from "../kinds/test-context.ts";
import type { Body, ReflectedKind } from "../reflected-kind.ts";
import { RemoteApi } from "./test-remote-api.ts";
import { isOfEarlier, isOwnTwin, twinMetadata, twinSelector } from "./twin-metadata.ts";
import { TwinWriter, type WantedTwin } from "./twin-writer.ts";

const Thing = defineKind("example.com/v1", "Thing", "things");
const things: ReflectedKind<DynamicObject> = {
  kind: Thing,
  policy: "DenyList",
  forge: ({ spec }) => ({ spec }),
  seen: ({ spec }) => ({ spec }),
};
const key = { namespace: "twin", name: "one" };
const never = new AbortController().signal;

const sourceOf = (spec: object, labels: Record<string, string> = {}, annotations: Record<string, string> = {}) =>
  ({
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: { name: "one", namespace: "shop", labels, annotations },
    spec,
  }) as DynamicObject;

const wantedOf = (source: DynamicObject): WantedTwin => ({
  ...key,
  metadata: twinMetadata(things, source, contextOf()),
  body: things.forge(source, contextOf()) ?? {},
});

const writerOf = (api: RemoteApi) => new TwinWriter(api.client, things, (object) => isOwnTwin(object, "consumer"));
const stored = (api: RemoteApi) => api.objects.get("twin/one") as DynamicObject | undefined;
const seen = (api: RemoteApi) => structuredClone(stored(api));

describe("a TwinWriter", () => {
  it("writes once, and no more while nothing differs, though the provider fills fields in", async () => {
    const api = new RemoteApi();
    const writer = writerOf(api);
    const wanted = wantedOf(sourceOf({ a: 1 }, { app: "web" }));
    assert.equal((await writer.align(undefined, wanted, never)).done, "Created");
    assert.equal((await writer.align(seen(api), wanted, never)).done, "Found");
    assert.equal(api.writes, 1);
    // Another process has not seen what became of the first write: it asks once, and then knows too.
    const later = writerOf(api);
    await later.align(seen(api), wanted, never);
    assert.equal((await later.align(seen(api), wanted, never)).done, "Found");
    assert.equal(api.writes, 2);
  });

  it("sends only what differs", async () => {
    const api = new RemoteApi();
    const writer = writerOf(api);
    await writer.align(undefined, wantedOf(sourceOf({ a: 1, b: { c: 1, d: 2 } })), never);
    let patch: unknown;
    const client = api.client as unknown as { patch: (...args: unknown[]) => Promise<unknown> };
    const spying = {
      ...client,
      patch: (...args: unknown[]) => {
        patch = args[3];
        return client.patch(...args);
      },
    };
    const spy = new TwinWriter(spying as never, things, (object) => isOwnTwin(object, "consumer"));
    await spy.align(seen(api), wantedOf(sourceOf({ a: 1, b: { c: 3 }, filledIn: "by the provider" })), never);
    assert.deepEqual(patch, { metadata: { uid: stored(api)?.metadata.uid }, spec: { b: { c: 3, d: null } } });
  });

  it("leaves labels that others at the provider have added, and takes away those that came with the original", async () => {
    const api = new RemoteApi();
    const writer = writerOf(api);
    await writer.align(undefined, wantedOf(sourceOf({}, { app: "web", old: "1" }, { note: "x" })), never);
    api.change(key, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, theirs: "1" };
    });
    await writer.align(seen(api), wantedOf(sourceOf({}, { app: "web" })), never);
    const { labels = {}, annotations = {} } = stored(api)?.metadata ?? {};
    assert.equal(labels.theirs, "1");
    assert.ok(!("old" in labels) && !("note" in annotations));
    assert.equal(labels.app, "web");
  });

  it("takes what others have changed since it last looked for the provider's own way no more than once", async () => {
    const api = new RemoteApi();
    const wanted = wantedOf(sourceOf({ a: 1 }));
    await writerOf(api).align(undefined, wanted, never);
    const writer = writerOf(api);
    const before = seen(api);
    api.change(key, (object) => {
      object.spec = {};
    });
    await writer.align(before, wanted, never);
    await writer.align(seen(api), wanted, never);
    assert.deepEqual(stored(api)?.spec, { a: 1, filledIn: "by the provider" });
    assert.equal((await writer.align(seen(api), wanted, never)).done, "Found");
  });

  it("makes anew what cannot be changed, unless it lasts", async () => {
    const api = new RemoteApi();
    await writerOf(api).align(undefined, wantedOf(sourceOf({ fixed: 1 })), never);
    const before = seen(api);
    await writerOf(api).align(before, wantedOf(sourceOf({ fixed: 2 })), never);
    assert.notEqual(stored(api)?.metadata.uid, before?.metadata.uid);
    const lasting = new TwinWriter(api.client, { ...things, lasting: true }, (object) => isOwnTwin(object, "consumer"));
    await assert.rejects(lasting.align(seen(api), wantedOf(sourceOf({ fixed: 3 })), never), /Invalid/);
    assert.deepEqual(stored(api)?.spec, { fixed: 2, filledIn: "by the provider" });
  });

  it("makes way for a later object of the name where the twin holds what was the earlier one's", async () => {
    const api = new RemoteApi();
    const lasting = { ...things, lasting: true };
    const writer = new TwinWriter(api.client, lasting, (object) => isOwnTwin(object, "consumer"));
    const ofUid = (uid: string): WantedTwin => {
      const source = sourceOf({ a: 1 });
      const object = { ...source, metadata: { ...source.metadata, uid } };
      return { ...key, metadata: twinMetadata(lasting, object, contextOf()), body: { spec: { a: 1 } } };
    };
    await writerOf(api).align(undefined, wantedOf(sourceOf({ a: 1 })), never);
    const first = stored(api)?.metadata.uid;
    // One that does not say whose it is is the one that is there.
    assert.equal((await writer.align(seen(api), ofUid("earlier"), never)).done, "Patched");
    assert.equal((await writer.align(seen(api), ofUid("earlier"), never)).done, "Found");
    assert.equal(stored(api)?.metadata.uid, first);
    assert.equal((await writer.align(undefined, ofUid("later"), never)).done, "Deleted");
    assert.equal((await writer.align(undefined, ofUid("later"), never)).done, "Created");
    assert.equal((await writer.align(seen(api), ofUid("latest"), never)).done, "Deleted");
    assert.equal(stored(api), undefined);
  });

  it("removes nothing that lasts on the word of a watch alone, and asks only before it would", async () => {
    const api = new RemoteApi();
    const lasting = { ...things, lasting: true };
    let there: string | undefined = "later";
    let asked = 0;
    const writer = new TwinWriter(
      api.client,
      lasting,
      (object) => isOwnTwin(object, "consumer"),
      async (twin) => {
        asked += 1;
        return there !== undefined && !isOfEarlier(twin, there);
      },
    );
    const ofUid = (uid: string): WantedTwin => {
      const source = sourceOf({ a: 1 });
      const object = { ...source, metadata: { ...source.metadata, uid } };
      return { ...key, metadata: twinMetadata(lasting, object, contextOf()), body: { spec: { a: 1 } } };
    };
    await writer.align(undefined, ofUid("later"), never);
    const before = stored(api);
    assert.equal((await writer.align(seen(api), ofUid("later"), never)).done, "Found");
    assert.equal(asked, 0);
    // By a watch at home that still has the one of before, or none.
    assert.equal((await writer.align(seen(api), ofUid("earlier"), never)).done, "Kept");
    assert.equal((await writer.align(undefined, ofUid("earlier"), never)).done, "Kept");
    assert.equal((await writer.align(seen(api), undefined, never)).done, "Kept");
    assert.deepEqual(stored(api), before);
    there = undefined;
    assert.equal((await writer.align(seen(api), undefined, never)).done, "Deleted");
    assert.deepEqual([stored(api), asked], [undefined, 4]);
  });

  it("asks for less where the provider has not to give all, and asks once", async () => {
    const api = new RemoteApi();
    const modest = {
      ...things,
      seen: ({ spec }: DynamicObject, wanted: Body) => ({ spec: { ...(wanted.spec as object), ...(spec as object) } }),
      modest: ({ spec }: Body) => ({ spec: { a: (spec as { a: number }).a } }),
    };
    const writer = () => new TwinWriter(api.client, modest, (object) => isOwnTwin(object, "consumer"));
    const wanted = wantedOf(sourceOf({ a: 1, taken: "10.0.0.7", filledIn: "by the provider" }));
    await assert.rejects(writerOf(api).align(undefined, wanted, never), /Invalid/);
    assert.equal((await writer().align(undefined, wanted, never)).done, "Created");
    assert.deepEqual(stored(api)?.spec, { a: 1, filledIn: "by the provider" });
    const { writes } = api;
    assert.equal((await writer().align(seen(api), wanted, never)).done, "Found");
    assert.equal(api.writes, writes);
  });

  it("never writes to or deletes what is not its own", async () => {
    const api = new RemoteApi();
    const foreign = sourceOf({ a: "of the provider" });
    api.put({ ...foreign, metadata: { ...foreign.metadata, namespace: "twin" } });
    const before = seen(api);
    assert.equal((await writerOf(api).align(undefined, wantedOf(sourceOf({ a: 1 })), never)).done, "Collision");
    // A twin that it remembers, in whose place another stands by now.
    const remembered = { ...sourceOf({}), metadata: { ...key, uid: "u0" } } as DynamicObject;
    assert.equal((await writerOf(api).align(remembered, wantedOf(sourceOf({ a: 1 })), never)).done, "Collision");
    await writerOf(api).align(remembered, undefined, never);
    assert.deepEqual(stored(api), before);
  });

  it("leaves endpoints out that the provider does not reach, though others have changed, and looks first what the provider has said since", async () => {
    const api = new RemoteApi();
    const [far, near, more] = ["10.1.0.1", "10.2.0.1", "10.1.0.2"].map((address) => ({
      addresses: [address],
      conditions: { ready: true },
    }));
    const writer = new TwinWriter(api.client, endpointSlices, () => true);
    const wanted = (...endpoints: unknown[]): WantedTwin => ({
      ...key,
      metadata: { labels: {}, annotations: {} },
      body: { addressType: "IPv4", endpoints, ports: [] },
    });
    const slice = () => structuredClone(stored(api)) as unknown as EndpointSlice;
    await writer.align(undefined, wanted(far, near), never);
    const before = slice();
    api.change(key, (object) => {
      const { endpoints, note } = silenced(slice(), (address) => address.startsWith("10.1.")) ?? {};
      Object.assign(object, { endpoints });
      object.metadata.annotations = { ...object.metadata.annotations, [SILENCED_ANNOTATION]: note ?? "" };
    });
    // By a watch that is behind, as by one that is not.
    await writer.align(before, wanted(far), never);
    assert.deepEqual(slice().endpoints, [{ ...far, conditions: { ready: false, serving: false } }]);
    await writer.align(slice(), wanted(far, more), never);
    const { endpoints, metadata } = slice();
    assert.deepEqual(endpoints, [{ ...far, conditions: { ready: false, serving: false } }, more]);
    assert.deepEqual(toldEndpoints(endpoints, metadata.annotations), [far, more]);
    const { writes } = api;
    assert.equal((await writer.align(slice(), wanted(far, more), never)).done, "Found");
    await writer.align(slice(), wanted(more), never);
    assert.deepEqual([slice().metadata.annotations?.[SILENCED_ANNOTATION], api.writes], [undefined, writes + 1]);
  });

  it("gives up for now where a provider answers each question differently", async () => {
    const api = new RemoteApi();
    const client = api.client;
    const liar = {
      ...client,
      create: (...all: unknown[]) => {
        api.put({ ...sourceOf({}), metadata: { ...key } } as never);
        const answer = (client.create as never as (...args: unknown[]) => Promise<unknown>)(...all);
        return answer.finally(() => api.objects.clear());
      },
    };
    const writer = new TwinWriter(liar as never, things, () => true);
    await assert.rejects(writer.align(undefined, wantedOf(sourceOf({})), never), /AlreadyExists/);
    assert.ok(api.writes < 10);
  });
});

describe("the law of twins", () => {
  const spec = fc.record(
    { a: fc.integer({ min: 0, max: 2 }), fixed: fc.integer({ min: 0, max: 1 }) },
    { requiredKeys: [], noNullPrototype: true },
  );
  const marks = fc.dictionary(fc.constantFrom("app", "tier"), fc.constantFrom("1", "2"), { noNullPrototype: true });
  const step = fc.oneof(
    fc.record({ do: fc.constant("change" as const), spec, labels: marks }),
    fc.record({ do: fc.constantFrom("remove", "align", "see", "restart", "lose", "seize", "free") }),
    fc.record({ do: fc.constant("drift" as const), spec, labels: marks }),
    fc.record({ do: fc.constant("fail" as const), when: fc.constantFrom("before" as const, "after" as const) }),
  );

  it("after any changes, drift, failures, restarts and delays, a twin is what its original says, and others' objects are theirs", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const api = new RemoteApi();
        let writer = writerOf(api);
        let source: DynamicObject | undefined;
        let view: DynamicObject | undefined;
        let foreign: DynamicObject | undefined;
        const isForeign = () => stored(api) !== undefined && !isOwnTwin(stored(api) as DynamicObject, "consumer");
        // A watch by labels shows own twins only.
        const look = () => {
          view = isForeign() ? undefined : seen(api);
        };
        const align = () => writer.align(view, source && wantedOf(source), never).catch(() => undefined);
        for (const each of steps) {
          if (each.do === "change") source = sourceOf(each.spec, each.labels);
          if (each.do === "remove") source = undefined;
          if (each.do === "align") await align();
          if (each.do === "see") look();
          if (each.do === "restart") {
            writer = writerOf(api);
            look();
          }
          if (each.do === "lose" && !isForeign()) api.objects.clear();
          if (each.do === "drift" && !isForeign())
            api.change(key, (object) => {
              object.spec = { ...each.spec, filledIn: "drifted" };
              object.metadata.labels = { ...object.metadata.labels, ...each.labels };
            });
          if (each.do === "seize" && stored(api) === undefined) {
            api.put({ ...sourceOf({ a: 9 }), metadata: { ...key } } as never);
            foreign = seen(api);
          }
          if (each.do === "free" && isForeign()) {
            api.objects.clear();
            foreign = undefined;
          }
          if (each.do === "fail") api.failures.push(each.when);
          if (foreign !== undefined) assert.deepEqual(stored(api), foreign);
        }
        api.failures = [];
        for (let round = 0; round < 3; round++) {
          look();
          await align();
        }
        if (foreign !== undefined) return assert.deepEqual(stored(api), foreign);
        const writes = api.writes;
        look();
        await align();
        assert.equal(api.writes, writes, "a settled twin is written to");
        if (source === undefined) return assert.equal(stored(api), undefined);
        const { filledIn: _, ...specThere } = (stored(api)?.spec ?? {}) as Record<string, unknown>;
        assert.deepEqual(specThere, source.spec);
        const { labels = {} } = stored(api)?.metadata ?? {};
        for (const [name, value] of Object.entries(source.metadata.labels ?? {})) assert.equal(labels[name], value);
      }),
      { numRuns: 1_000 },
    );
  });
});

it("an object with the labels of reflection is no twin without the marks of its kind", () => {
  const labels = { "fjord.dev/consumer": "consumer", "fjord.dev/managed-by": "reflect", keeper: "other" };
  const object = { ...sourceOf({}), metadata: { ...key, labels } };
  assert.equal(isOwnTwin(object, "consumer"), true);
  assert.equal(isOwnTwin(object, "another"), false);
  assert.equal(isOwnTwin(object, "consumer", { keeper: "fjord.dev" }), false);
  assert.equal(twinSelector({ keeper: "fjord.dev" }), "fjord.dev/managed-by=reflect,keeper=fjord.dev");
});
