import assert from "node:assert/strict";
import { test } from "node:test";
import { aborted, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { CoreEvent, ObjectKey, Pod } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { serverClockOf } from "../../test-server-clock.ts";
import { podOf } from "../kinds/test-context.ts";
import { EventStream } from "./event-stream.ts";

/** An own API that keeps what is written, and a provider that tells what the test says. */
function start(told: readonly CoreEvent[], ahead: { here?: number; there?: number } = {}) {
  const clock = new ManualClock();
  const kept = new Map<string, CoreEvent>();
  const client = {
    serverClock: serverClockOf(clock, ahead.here),
    list: async () => ({ metadata: {}, items: [] }),
    create: async (_: unknown, event: CoreEvent) => void kept.set(event.metadata.name ?? "", event),
    patch: async (_: unknown, { name }: ObjectKey, __: unknown, patch: object) => {
      const event = kept.get(name);
      if (event !== undefined) kept.set(name, { ...event, ...patch });
    },
  };
  const kube = {
    serverClock: serverClockOf(clock, ahead.there),
    async *listAll() {
      yield { metadata: { resourceVersion: "1" }, items: [] };
    },
    async *watch(_: unknown, { signal }: { signal: AbortSignal }) {
      for (const object of told) yield { type: "ADDED", object };
      await aborted(signal);
    },
  };
  const dropped: string[] = [];
  const pods = new Map<string, Pod>();
  const stream = new EventStream({
    home: { client, clock, random: () => 0.5, logger: silentLogger } as unknown as Home,
    site: { id: "provider", kube } as unknown as RemoteSite,
    namespace: "shop",
    twinNamespace: "shop-twin",
    counters: { item() {}, error: (_, reason) => void dropped.push(reason) },
    ownOf: (kind, name) => (kind === "Pod" ? pods.get(name) : undefined),
  });
  const stop = new AbortController();
  const run = stream.run(stop.signal);
  return {
    clock,
    kept,
    pods,
    dropped,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await run;
    },
  };
}

function event(pod: string, index: number): CoreEvent {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: `${pod}.${index}`,
      namespace: "shop-twin",
      uid: `e-${pod}-${index}`,
      resourceVersion: `${index + 2}`,
    },
    involvedObject: { kind: "Pod", name: pod, namespace: "shop-twin" },
    reason: "BackOff",
    message: `attempt ${index}`,
    count: 1,
  } as unknown as CoreEvent;
}

test("a provider that invents events of a pod without end fills no API with them, and others are heard", async () => {
  const invented = Array.from({ length: 500 }, (_, index) => event("loud", index));
  await using stream = start([...invented, event("quiet", 1)]);
  for (const name of ["loud", "quiet"]) {
    const pod = podOf(name);
    stream.pods.set(name, { ...pod, metadata: { ...pod.metadata, uid: `u-${name}` } });
  }
  await stream.clock.advance(60_000);
  const of = (name: string) => [...stream.kept.values()].filter(({ involvedObject }) => involvedObject.name === name);
  assert.equal(of("quiet").length, 1);
  assert.ok(of("loud").length >= 50 && of("loud").length <= 52, `${of("loud").length} events of one pod are kept`);
  assert.equal(stream.dropped.filter((reason) => reason === "dropped").length, 500 - of("loud").length);
});

test("an event of a kind of another group that has the same name is nobody's here", async () => {
  const other = { apiVersion: "example.com/v1", kind: "Pod", name: "quiet", namespace: "shop-twin" };
  const own = { ...other, apiVersion: "v1" };
  await using stream = start([
    { ...event("quiet", 1), involvedObject: other },
    { ...event("quiet", 2), involvedObject: own },
  ]);
  stream.pods.set("quiet", podOf("quiet"));
  await stream.clock.advance(1_000);
  assert.deepEqual(
    [...stream.kept.values()].map(({ message }) => message),
    ["attempt 2"],
  );
});

test("events say when by the clock of the own API, and nothing that is yet to come", async () => {
  const began = new ManualClock().now();
  for (const [here, there, said] of [
    [-240_000, 240_000, 235_000],
    [480_000, 0, -5_000],
    // The node that tells is ahead of its API.
    [60_000, 60_000, 600_000],
  ] as const) {
    const lastTimestamp = new Date(began + said).toISOString();
    await using stream = start([{ ...event("web", 1), lastTimestamp }], { here, there });
    const { metadata, ...pod } = podOf("web");
    const creationTimestamp = new Date(began - 3_600_000).toISOString();
    stream.pods.set("web", { ...pod, metadata: { ...metadata, uid: "u", creationTimestamp } });
    await stream.clock.advance(1_000);
    const [own] = stream.kept.values();
    const off = Date.parse(own?.lastTimestamp ?? "") - (stream.clock.now() + here);
    assert.ok(off <= 1_000 && off > -9_000, `${here}, ${there}: ${off} ms`);
  }
});
