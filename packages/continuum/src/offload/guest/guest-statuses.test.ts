import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Pod } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { GuestMemory } from "./guest-memory.ts";
import { SHADOW_UID_ANNOTATION } from "./guest-pod.ts";
import type { GuestState } from "./guest-state.ts";
import { GuestStatuses } from "./guest-statuses.ts";

const shadow = (name: string) =>
  ({
    apiVersion: "fjord.dev/v1alpha1",
    kind: "ShadowPod",
    metadata: { name, namespace: "twin", uid: `s-${name}`, resourceVersion: "1", generation: 1 },
    spec: { contract: "c", originUid: `o-${name}`, recreate: "Always", pod: { spec: { containers: [] } } },
  }) as unknown as ShadowPod;

/** Statuses of guests that all run, and the names of those that were written. */
function setUp() {
  const clock = new ManualClock();
  const written: string[] = [];
  const memories = new Map<string, GuestMemory>();
  const guest = (name: string) => {
    const annotations = { [SHADOW_UID_ANNOTATION]: `s-${name}` };
    return { metadata: { name, uid: `p-${name}`, annotations }, status: { phase: "Running" } } as unknown as Pod;
  };
  const state = {
    workedAt: Number.NEGATIVE_INFINITY,
    /** Revision of the shadow pods as the watch shows them. */
    shown: "1",
    shadows: {
      get: (_: string, name: string) => {
        const { metadata, ...rest } = shadow(name);
        return { ...rest, metadata: { ...metadata, resourceVersion: state.shown } } as ShadowPod;
      },
    },
    pods: { get: ({ name }: { name: string }) => guest(name) },
    memoryOf: ({ metadata: { name = "", uid = "" } }: ShadowPod) => {
      const memory = memories.get(name) ?? { shadowUid: uid };
      memories.set(name, memory);
      return memory;
    },
  };
  const client = {
    patch: async (_: unknown, { name }: { name: string }) => {
      written.push(name);
      return { metadata: { resourceVersion: "2" } };
    },
  };
  const home = { clock, client, random: () => 0, logger: silentLogger } as unknown as Home;
  const statuses = new GuestStatuses(home, state as unknown as GuestState);
  const stop = new AbortController();
  const run = statuses.run(stop.signal, stop.signal);
  const end = async () => {
    stop.abort();
    await run;
  };
  return { clock, written, state, statuses, [Symbol.asyncDispose]: end };
}

/** A minute in which guests come and go all the time. */
async function busyMinute({ clock, state }: ReturnType<typeof setUp>): Promise<void> {
  for (let seconds = 0; seconds < 60; seconds++) {
    state.workedAt = clock.now();
    await clock.advance(1_000);
  }
}

test("a status that nobody waits for is written once guests no longer come and go", async () => {
  await using t = setUp();
  t.statuses.tell(shadow("patient"));
  t.statuses.tell(shadow("urgent"), 0);
  for (let minutes = 0; minutes < 14; minutes++) await busyMinute(t);
  assert.deepEqual(t.written, ["urgent"]);
  await t.clock.advance(31_000);
  assert.deepEqual(t.written, ["urgent", "patient"]);
});

test("a status does not wait for ever", async () => {
  await using t = setUp();
  t.statuses.tell(shadow("patient"));
  for (let minutes = 0; minutes < 16; minutes++) await busyMinute(t);
  assert.deepEqual(t.written, ["patient"]);
});

test("news that somebody waits for is written as soon as the watch shows what was written before", async () => {
  await using t = setUp();
  t.statuses.tell(shadow("urgent"), 0);
  await t.clock.advance(10);
  assert.deepEqual(t.written, ["urgent"]);
  t.statuses.tell(shadow("urgent"), 0);
  await t.clock.advance(1_000);
  assert.deepEqual(t.written, ["urgent"]);
  t.state.shown = "2";
  // As a change that the watch shows is told of: as one that can wait.
  t.statuses.tell(shadow("urgent"));
  await t.clock.advance(100);
  assert.deepEqual(t.written, ["urgent", "urgent"]);
});
