import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Pod } from "@fjord/kube";
import type { StatusWriter } from "@fjord/node/pod-status";
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

/** A life whose pod is told to end, and what is written of it at home. */
function setUp(onDelete: (life: PodLife) => void) {
  const set: string[] = [];
  const writer = {
    set: ({ metadata }: Pod) => set.push(metadata.uid ?? ""),
    latest: ({ status }: Pod) => status,
    forget: () => {},
  } as unknown as StatusWriter;
  const home = { clock: new ManualClock(), logger: silentLogger, recorder: { event: () => {} } };
  const life = new PodLife({ home, writer, isOver: () => false } as unknown as PodLifeOptions);
  const place = {
    node: { object: {}, contract: "c" },
    twin: "twin",
    remote: { hasSynced: true, shadowOf: () => shadow, guestOf: () => guest },
    site: { id: "north", reachability: { reachable: true }, kube: { delete: async () => onDelete(life) } },
  } as unknown as Place;
  return { set, end: () => life.end(pod, place, { signal: new AbortController().signal }) };
}

test("a pod that ends is told of for as long as it is there", async () => {
  const { set, end } = setUp(() => {});
  await end();
  assert.deepEqual(set, ["u"]);
});

test("of a pod that goes while its shadow pod is taken back nothing is kept", async () => {
  const { set, end } = setUp((life) => life.forget("u"));
  await end();
  assert.deepEqual(set, []);
});
