import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import { type Clock, seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Pod } from "@fjord/kube";
import { StatusWriter, type StatusWriterOptions } from "@fjord/node/pod-status";
import { serverClockOf } from "../../test-server-clock.ts";
import type { Place } from "./pod-life.ts";
import { PodReports } from "./pod-reports.ts";
import { OFFLOADED_CONDITION } from "./status/index.ts";

const containerStatuses = [
  { name: "main", ready: true, started: true, restartCount: 0, image: "a", imageID: "a", state: { running: {} } },
];
const bound = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1" },
  spec: { nodeName: "north", containers: [{ name: "main", image: "a" }] },
  status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] },
} as Pod;
const guest = {
  metadata: { name: "web", namespace: "twin", uid: "g" },
  status: {
    phase: "Running",
    startTime: new Date(0).toISOString(),
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses,
  },
} as Pod;
const shadow = { metadata: { name: "web", namespace: "twin" }, spec: { originUid: "u" } } as ShadowPod;
function placeOf(clock: Clock, aheadThere: number, guests: () => Pod | undefined): Place {
  return {
    node: { object: { status: { address: "10.0.0.1" } } },
    site: { id: "north", kube: { serverClock: serverClockOf(clock, aheadThere) } },
    remote: { guestOf: guests },
  } as unknown as Place;
}

/** What an API server makes of a patch. */
function merged(status: Pod["status"]): Pod["status"] {
  const kept = <T extends object>(list: readonly T[] = []) => list.filter((each) => !("$patch" in each));
  return {
    ...status,
    hostIPs: kept(status?.hostIPs),
    conditions: [...(bound.status?.conditions ?? []), ...kept(status?.conditions)],
  };
}

/** Reports to an API that answers when it is let, and keeps what was sent. */
function setUp(ahead: { here?: number; there?: number; guest?: Pod } = {}) {
  const clock = new ManualClock();
  const place = placeOf(clock, ahead.there ?? 0, () => ahead.guest ?? guest);
  const serverClock = serverClockOf(clock, ahead.here);
  const written: Pod["status"][] = [];
  let answer = Promise.withResolvers<void>();
  const client = {
    patch: async (_: unknown, __: unknown, ___: unknown, { status }: Pod) => {
      written.push(status);
      await answer.promise;
      return {
        ...bound,
        metadata: { ...bound.metadata, resourceVersion: `${written.length + 1}` },
        status: merged(status),
      };
    },
  } as unknown as StatusWriterOptions["client"];
  const means = { client, clock, random: seededRandom(1), logger: silentLogger };
  const writer = new StatusWriter({ ...means, alsoOwn: [OFFLOADED_CONDITION] });
  const events: string[] = [];
  let isSilent = false;
  const recorder = { event: (_: object, { reason }: { reason: string }) => void events.push(reason) };
  const name = (_: string, address: string) => address;
  const addresses = { calledHere: name, calledThere: name, isSilent: () => isSilent, onChange: () => () => {} };
  const reports = new PodReports({ home: { client: { serverClock }, recorder }, writer, addresses });
  const stop = new AbortController();
  const run = writer.run(stop.signal);
  return {
    clock,
    written,
    events,
    setSilent: (silent: boolean) => {
      isSilent = silent;
    },
    reach: (pod: Pod) => reports.reach(pod, place),
    finish: (pod: Pod) => reports.finish(pod),
    report: (pod: Pod) => reports.report(pod, place, shadow),
    letAnswer: () => {
      answer.resolve();
      answer = Promise.withResolvers();
      answer.resolve();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await run;
    },
  };
}

test("a status is written once, however far the watch is behind and however often it is looked at", async () => {
  await using t = setUp();
  t.report(bound);
  await t.clock.advance(2_000);
  // Under way, and not answered yet.
  t.report(bound);
  await t.clock.advance(2_000);
  t.letAnswer();
  await t.clock.advance(2_000);
  // Answered, and not shown yet.
  t.report(bound);
  await t.clock.advance(2_000);
  assert.equal(t.written.length, 1);
  assert.equal(t.written[0]?.phase, "Running");
});

test("a pod behind a silent link is not ready, and an event tells of it once, and once when it is back", async () => {
  await using t = setUp();
  t.letAnswer();
  const readyOf = (status: Pod["status"]) => status?.conditions?.find(({ type }) => type === "Ready");
  t.report(bound);
  await t.clock.advance(2_000);
  assert.equal(readyOf(t.written.at(-1))?.status, "True");
  const ready = { ...bound, status: merged(t.written.at(-1)) };
  t.setSilent(true);
  t.report(ready);
  t.report(ready);
  await t.clock.advance(2_000);
  assert.equal(readyOf(t.written.at(-1))?.reason, "LinkSilent");
  t.setSilent(false);
  // The provider's agent is away: of the link something is known all the same.
  t.reach({ ...ready, status: merged(t.written.at(-1)) });
  await t.clock.advance(2_000);
  assert.equal(readyOf(t.written.at(-1))?.status, "True");
  assert.deepEqual(t.events, ["LinkSilent", "LinkAnswers"]);
});

/** The times of a status in milliseconds after a moment. */
function timesAfter(moment: number, status: Pod["status"]): number[] {
  const times = JSON.stringify(status).matchAll(/"(\d{4}-\d\d-\d\dT[^"]*)"/g);
  return [...times].map(([, time = ""]) => Date.parse(time) - moment);
}

test("a pod that a Job holds ends by the clock of the own API, however wrong the agent's is", async () => {
  for (const here of [-480_000, -60_000, 60_000, 480_000]) {
    await using t = setUp({ here });
    t.letAnswer();
    t.finish({ ...bound, metadata: { ...bound.metadata, finalizers: ["batch.kubernetes.io/job-tracking"] } });
    await t.clock.advance(100);
    const [status] = t.written;
    assert.equal(status?.phase, "Failed");
    const times = timesAfter(t.clock.now() + here, status);
    // The Job waits from then on before it makes the next one.
    assert.ok(times.length > 0 && times.every((ms) => ms <= 1_000 && ms > -3_000), `${here}: ${times}`);
  }
});

test("what a provider says of times is read by the clocks of the two APIs, and nothing of it is yet to come", async () => {
  const began = new ManualClock().now();
  const at = (ms: number) => new Date(began + ms).toISOString();
  for (const [here, there, kubelet] of [
    [0, 300_000, 300_000],
    [-240_000, 240_000, 240_000],
    [480_000, 0, 0],
    // The clock of the provider's node is ahead of that of its API.
    [-60_000, -60_000, 0],
  ] as const) {
    const terminated = { exitCode: 1, startedAt: at(kubelet - 20_000), finishedAt: at(kubelet - 5_000) };
    const ended = { ...containerStatuses[0], ready: false, state: { terminated } };
    const failed = { ...guest, status: { ...guest.status, phase: "Failed", containerStatuses: [ended] } } as Pod;
    await using t = setUp({ here, there, guest: failed });
    t.letAnswer();
    t.report({ ...bound, spec: { ...bound.spec, restartPolicy: "Never" } as NonNullable<Pod["spec"]> });
    await t.clock.advance(100);
    const [status] = t.written;
    const late = timesAfter(began + here, status).filter((ms) => ms > 1_100);
    assert.deepEqual(late, [], `${here}, ${there}`);
    const { finishedAt = "" } = status?.containerStatuses?.[0]?.state?.terminated ?? {};
    const off = Date.parse(finishedAt) - (began + here + (kubelet === there ? -5_000 : 0));
    assert.ok(Math.abs(off) <= 2_000, `${here}, ${there}: ${off} ms`);
  }
});
