import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Pod } from "@fjord/kube";
import { StatusWriter, type StatusWriterOptions } from "@fjord/node/pod-status";
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
const place = {
  node: { object: { status: { address: "10.0.0.1" } } },
  site: { id: "north" },
  remote: { guestOf: () => guest },
} as unknown as Place;

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
function setUp() {
  const clock = new ManualClock();
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
  const reports = new PodReports({ home: { clock, recorder }, writer, addresses });
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
