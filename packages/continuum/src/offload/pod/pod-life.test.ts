import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError, againAfter, type Pod } from "@fjord/kube";
import type { StatusWriter } from "@fjord/node/pod-status";
import { serverClockOf } from "../../test-server-clock.ts";
import { type Place, PodLife, type PodLifeOptions } from "./pod-life.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop", uid: "u", deletionTimestamp: "2026-01-01T00:00:00Z" },
  spec: { nodeName: "north", containers: [] },
} as Pod;
const shadow = { metadata: { name: "web", namespace: "twin", uid: "s" }, spec: { originUid: "u" } } as ShadowPod;
const guest = {
  metadata: { name: "web", namespace: "twin", uid: "g" },
  status: { phase: "Running", startTime: "2026-01-01T00:00:00Z" },
} as Pod;

/** What of an API's client says what time it is there. */
const client = { serverClock: serverClockOf(new ManualClock()) };

/** A life whose pod is told to end, what is written of it at home, and which shadow pods are said to be deleted. */
function setUp(onDelete: (life: PodLife) => void) {
  const set: string[] = [];
  const deleted: string[] = [];
  const writer = {
    set: ({ metadata }: Pod) => set.push(metadata.uid ?? ""),
    latest: ({ status }: Pod) => status,
    forget: () => {},
  } as unknown as StatusWriter;
  const home = { clock: new ManualClock(), client, logger: silentLogger, recorder: { event: () => {} } };
  const onShadowDeleted = (_: Place, { metadata }: ShadowPod) => deleted.push(metadata.uid ?? "");
  const life = new PodLife({ home, writer, isOver: () => false, onShadowDeleted } as unknown as PodLifeOptions);
  const place = {
    node: { object: { metadata: {} }, contract: "c" },
    twin: "twin",
    remote: { hasSynced: true, shadowOf: () => shadow, guestOf: () => guest },
    site: { id: "north", reachability: { reachable: true }, kube: { ...client, delete: async () => onDelete(life) } },
  } as unknown as Place;
  return { set, deleted, end: () => life.end(pod, place, { signal: new AbortController().signal }) };
}

test("a pod that ends is told of for as long as it is there", async () => {
  const { set, end } = setUp(() => {});
  await end();
  assert.deepEqual(set, ["u"]);
});

test("of a pod that goes while its shadow pod is taken back nothing is kept but that it was", async () => {
  const { set, deleted, end } = setUp((life) => life.forget("u"));
  await end();
  assert.deepEqual(set, []);
  // Whoever looks at what the pod has left behind would delete it once more otherwise.
  assert.deepEqual(deleted, ["s"]);
});

test("a pod ends whose shadow pod came and went while the other site was not watched", async () => {
  const deleted: string[] = [];
  const finished: string[] = [];
  const writer = {
    latest: ({ status }: Pod) => status,
    finish: ({ metadata }: Pod) => finished.push(metadata.uid ?? ""),
  } as unknown as StatusWriter;
  const home = { clock: new ManualClock(), client, logger: silentLogger, identity: { id: "home" } };
  const life = new PodLife({ home, writer, isOver: () => false } as unknown as PodLifeOptions);
  const kube = {
    ...client,
    create: async () => ({ ...shadow, metadata: { ...shadow.metadata, resourceVersion: "7" } }),
    delete: async (_kind: unknown, _key: unknown, { preconditions }: { preconditions: { uid: string } }) =>
      deleted.push(preconditions.uid),
  };
  const remote = {
    hasSynced: true,
    shadowsVersion: "5",
    shadowOf: () => undefined,
    guestOf: () => undefined,
    shadowAt: () => undefined,
    isGone: async () => true,
  };
  const node = { name: "north", object: { metadata: {}, spec: {} }, contract: "c" };
  const site = { id: "north", reachability: { reachable: true }, kube };
  const place = { node, twin: "twin", remote, site } as unknown as Place;
  const work = { signal: new AbortController().signal };
  const { deletionTimestamp: _, ...metadata } = pod.metadata;
  await life.follow({ ...pod, metadata } as Pod, place, work);
  assert.deepEqual(await life.end(pod, place, work), againAfter(1_000), "nothing else may bring it back");
  assert.deepEqual([deleted, finished], [["s"], []]);
  // A list that was made anew.
  remote.shadowsVersion = "9";
  await life.end(pod, place, work);
  assert.deepEqual([deleted, finished], [["s"], ["u"]]);
});

test("a shadow follows what its pod asks for, and nothing that only its status tells", async () => {
  const patched: string[] = [];
  const forged = new Map<string, string>();
  const living = (resourceVersion: string, generation: number, change: { labels?: object; image?: string } = {}) =>
    ({
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: undefined, resourceVersion, generation, labels: change.labels },
      spec: { ...pod.spec, containers: [{ name: "main", image: change.image ?? "one" }] },
      status: { message: resourceVersion },
    }) as Pod;
  const kube = {
    ...client,
    patch: async (_kind: unknown, _key: unknown, _type: unknown, [, digest]: { value: string }[]) => {
      patched.push(digest?.value ?? "");
      forged.set("fjord.dev/forged", digest?.value ?? "");
      return { metadata: { resourceVersion: "0" } };
    },
  };
  const writer = { set: () => {}, latest: ({ status }: Pod) => status, forget: () => {} } as unknown as StatusWriter;
  const home = {
    clock: new ManualClock(),
    client,
    logger: silentLogger,
    recorder: { event: () => {} },
    identity: { id: "home" },
  };
  const life = new PodLife({ home, writer, isOver: () => false } as unknown as PodLifeOptions);
  const place = {
    node: { object: { metadata: {}, spec: {} }, contract: "c" },
    twin: "twin",
    remote: {
      hasSynced: true,
      shadowOf: () => ({ ...shadow, metadata: { ...shadow.metadata, annotations: Object.fromEntries(forged) } }),
      guestOf: () => undefined,
    },
    site: { id: "north", reachability: { reachable: true }, kube },
  } as unknown as Place;
  const follow = (current: Pod) => life.follow(current, place, { signal: new AbortController().signal });
  await follow(living("1", 1));
  assert.equal(patched.length, 1, "another shadow than was asked for is put right");
  await follow(living("2", 1));
  assert.equal(patched.length, 1);
  await follow(living("3", 1, { labels: { tier: "web" } }));
  assert.equal(patched.length, 2, "labels do not count as a generation");
  await follow(living("4", 2, { labels: { tier: "web" }, image: "two" }));
  assert.equal(patched.length, 3);
  await follow(living("5", 2, { labels: { tier: "web" }, image: "two" }));
  assert.equal(new Set(patched).size, 3);
  const node = place.node as { object: unknown };
  node.object = { metadata: { resourceVersion: "2" }, spec: {}, status: { allocated: { pods: "1" } } };
  await follow(living("5", 2, { labels: { tier: "web" }, image: "two" }));
  assert.equal(patched.length, 3, "what is counted at a node is nothing to its pods");
  node.object = { metadata: {}, spec: { podPatch: { metadata: { labels: { by: "node" } } } } };
  await follow(living("5", 2, { labels: { tier: "web" }, image: "two" }));
  assert.equal(new Set(patched).size, 4, "what is asked of the pods of a node is");
});

test("a pod that the other site does not give what it asks for, or whose node is ending, waits, and goes once it can", async () => {
  const told: string[] = [];
  const statuses: Pod["status"][] = [];
  const made: unknown[] = [];
  const asking = {
    ...pod,
    metadata: { name: "web", namespace: "shop", uid: "u" },
    spec: { nodeName: "north", hostNetwork: true, containers: [] },
  } as Pod;
  const writer = {
    set: (_pod: Pod, status: Pod["status"]) => statuses.push(status),
    latest: ({ status }: Pod) => status,
    forget: () => {},
  } as unknown as StatusWriter;
  const home = {
    clock: new ManualClock(),
    client,
    logger: silentLogger,
    recorder: { event: (_pod: Pod, { reason }: { reason: string }) => told.push(reason) },
    identity: { id: "home" },
  };
  const life = new PodLife({ home, writer, isOver: () => false } as unknown as PodLifeOptions);
  const site = {
    id: "north",
    reachability: { reachable: true },
    report: { guestPrivileges: [] as string[] },
    kube: {
      ...client,
      create: async (_kind: unknown, object: ShadowPod) => {
        made.push(object.spec.originUid);
        return { ...object, metadata: { ...object.metadata, uid: "s", resourceVersion: "1" } };
      },
    },
  };
  const place = {
    node: { object: { metadata: {}, spec: {} }, contract: "c" },
    twin: "twin",
    remote: { hasSynced: true, shadowOf: () => undefined, shadowAt: () => undefined, guestOf: () => undefined },
    site,
  } as unknown as Place;
  const follow = (current: Pod) => life.follow(current, place, { signal: new AbortController().signal });
  await follow(asking);
  await follow(asking);
  assert.deepEqual([statuses.at(-1)?.phase, told, made], ["Pending", ["OffloadingRefused"], []]);
  const offloaded = statuses.at(-1)?.conditions?.find(({ reason }) => reason === "OffloadingRefused");
  assert.match(offloaded?.message ?? "", /hostNetwork/);
  site.report.guestPrivileges = ["hostNetwork"];
  const ending = { deletionTimestamp: "2030-01-01T00:00:00Z" };
  const closed = { ...place, node: { ...place.node, object: { metadata: ending, spec: {} } } } as unknown as Place;
  await life.follow(asking, closed, { signal: new AbortController().signal });
  assert.deepEqual([told.at(-1), made], ["NodeEnding", []]);
  await follow(asking);
  assert.deepEqual(made, ["u"]);
});

test("a pod is held until its site has what it expects there, not for long, and where that was in vain no other is", async () => {
  const made: unknown[] = [];
  const clock = new ManualClock();
  const named = (uid: string) =>
    ({ ...pod, metadata: { name: uid, namespace: "shop", uid }, spec: { nodeName: "north", containers: [] } }) as Pod;
  const home = { clock, client, logger: silentLogger, recorder: { event: () => {} }, identity: { id: "home" } };
  const writer = { set: () => {}, latest: ({ status }: Pod) => status, forget: () => {} };
  let isReady = false;
  const options = { home, writer, isOver: () => false, isReadyFor: () => isReady };
  const life = new PodLife(options as unknown as PodLifeOptions);
  const create = async (_kind: unknown, object: ShadowPod) => {
    made.push(object.spec.originUid);
    return { ...object, metadata: { ...object.metadata, uid: "s", resourceVersion: "1" } };
  };
  const place = {
    node: { object: { metadata: {}, spec: {} }, contract: "c" },
    twin: "twin",
    remote: { hasSynced: true, shadowOf: () => undefined, shadowAt: () => undefined, guestOf: () => undefined },
    site: { id: "north", reachability: { reachable: true }, report: {}, kube: { ...client, create } },
  } as unknown as Place;
  /** Follows it for as long as that asks for another look. */
  const begin = async (current: Pod, atMostMs = 10_000) => {
    const from = clock.now();
    for (;;) {
      const result = await life.follow(current, place, { signal: new AbortController().signal });
      if (result.type !== "again" || clock.now() - from + result.afterMs > atMostMs) return clock.now() - from;
      await clock.advance(result.afterMs);
    }
  };
  await begin(named("a"), 500);
  assert.deepEqual(made, []);
  isReady = true;
  assert.equal(await begin(named("a")), 0);
  assert.deepEqual(made, ["a"]);
  isReady = false;
  assert.equal(await begin(named("b")), 5_000);
  assert.equal(await begin(named("c")), 0);
  assert.deepEqual(made, ["a", "b", "c"]);
  await clock.advance(60_000);
  assert.equal(await begin(named("d")), 5_000);
  const restarted = { ...named("e"), status: { startTime: "2030-01-01T00:00:00Z" } } as Pod;
  assert.equal(await begin(restarted), 0);
});

test("a pod that its namespace's Offloading has let out fails where that is gone, and others wait", async () => {
  const clock = new ManualClock();
  const told: string[] = [];
  const statuses = new Map<string, Pod["status"]>();
  const writer = {
    set: ({ metadata }: Pod, status: Pod["status"]) => statuses.set(metadata.uid ?? "", status),
    latest: ({ status }: Pod) => status,
    forget: () => {},
  };
  const event = ({ metadata }: Pod, { reason }: { reason: string }) => told.push(`${metadata.name} ${reason}`);
  const home = { clock, client, logger: silentLogger, recorder: { event }, identity: { id: "home" } };
  let isOffloaded = false;
  const options = { home, writer, isOver: () => false, isOffloaded: async () => isOffloaded };
  const life = new PodLife(options as unknown as PodLifeOptions);
  const place = {
    node: { object: { metadata: {}, spec: {} }, contract: "c" },
    remote: { hasSynced: true, shadowOf: () => undefined, guestOf: () => undefined },
    site: { id: "north", reachability: { reachable: true }, report: {}, kube: client },
  } as unknown as Place;
  const phaseOf = async (name: string, tolerations: object[], metadata: object = {}, at = place) => {
    const landed = {
      ...pod,
      metadata: { name, namespace: "shop", uid: name, ...metadata },
      spec: { nodeName: "north", containers: [], tolerations },
    } as unknown as Pod;
    const follow = () => life.follow(landed, at, { signal: new AbortController().signal });
    assert.equal((await follow()).type, "again", "its Offloading may be a moment away");
    await clock.advance(3_000);
    assert.equal((await follow()).type, "done");
    return statuses.get(name)?.phase;
  };
  const letOut = [{ key: "fjord.dev/virtual-node", operator: "Exists", effect: "NoSchedule" }];
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r", controller: true };
  assert.equal(await phaseOf("bare", letOut), "Failed");
  assert.match(statuses.get("bare")?.message ?? "", /namespace shop is not offloaded.*make it again/);
  assert.equal(await phaseOf("made", letOut, { ownerReferences: [owner] }), "Pending");
  assert.equal(await phaseOf("named", []), "Pending");
  isOffloaded = true;
  assert.equal(await phaseOf("early", letOut), "Pending");
  assert.deepEqual(told, ["bare NotOffloaded", "made NotOffloaded", "named NotOffloaded", "early AwaitingTwin"]);
  await phaseOf("refused", letOut, {}, { ...place, lack: "NameRefused: fjord-x is a name that the provider keeps" });
  const offloaded = statuses.get("refused")?.conditions?.find(({ type }) => type === "fjord.dev/Offloaded");
  assert.match(offloaded?.message ?? "", /has no usable twin at .* node north: NameRefused: fjord-x is a name/);
});

test("the shadow pod of an earlier pod of the name is taken back, and not that of a later one that a watch does not show yet", async () => {
  const living = { ...pod, metadata: { name: "web", namespace: "shop", uid: "u" } } as Pod;
  const others = { ...shadow, spec: { originUid: "other" } } as ShadowPod;
  for (const isShown of [true, false]) {
    let own: string | undefined = "other";
    const deleted: unknown[] = [];
    const get = async () => {
      if (own === undefined) throw new ApiError({ action: "get", statusCode: 404, text: "there is none" });
      return { metadata: { uid: own } };
    };
    const kube = {
      ...client,
      get: async () => others,
      create: async () => {
        throw new ApiError({ action: "create", statusCode: 409, status: { reason: "AlreadyExists" } });
      },
      delete: async (...[, , { preconditions }]: [unknown, unknown, { preconditions: { uid: string } }]) =>
        deleted.push(preconditions.uid),
    };
    const home = {
      ...{ clock: new ManualClock(), logger: silentLogger, recorder: { event: () => {} }, identity: { id: "home" } },
      client: { ...client, get },
    };
    const writer = { set: () => {}, latest: ({ status }: Pod) => status, forget: () => {} };
    const life = new PodLife({ home, writer, isOver: () => false } as unknown as PodLifeOptions);
    const shadowAt = () => (isShown ? others : undefined);
    const place = {
      node: { object: { metadata: {}, spec: {} }, contract: "c" },
      twin: "twin",
      remote: { hasSynced: true, shadowOf: () => undefined, shadowAt, guestOf: () => undefined },
      site: { id: "north", reachability: { reachable: true }, report: {}, kube },
    } as unknown as Place;
    const follow = () => life.follow(living, place, { signal: new AbortController().signal });
    assert.deepEqual([await follow(), deleted], [againAfter(1_000), []]);
    for (const now of ["u", undefined]) {
      own = now;
      await follow();
    }
    assert.deepEqual(deleted, ["s", "s"]);
  }
});
