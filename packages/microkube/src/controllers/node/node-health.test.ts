import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease, Node } from "@fjord/kube";
import { feel, silentConditions, untilSilent, wantedTaints } from "./node-health.ts";

const NOW = Date.UTC(2030, 0, 1);
const node = (conditions: object[] = [], spec: object = {}): Node =>
  ({
    metadata: { name: "n", creationTimestamp: new Date(NOW - 10_000).toISOString() },
    spec,
    status: { conditions },
  }) as unknown as Node;
const ready = (status = "True", lastHeartbeatTime = "1") => ({ type: "Ready", status, lastHeartbeatTime });
const lease = (renewTime: string) => ({ spec: { renewTime } }) as Lease;

/** So long after the first look, by time; and by a clock that is set otherwise. */
const at = (ms: number, set = 0) => ({ steady: 7_000 + ms, clock: NOW + ms + set });

test("a node is alive as long as its lease or its status moves", () => {
  const first = feel(undefined, node([ready()]), lease("a"), at(0));
  assert.equal(untilSilent(node([ready()]), first, at(0)), 50_000);
  const same = feel(first, node([ready()]), lease("a"), at(49_000));
  assert.equal(untilSilent(node([ready()]), same, at(49_000)), 1_000);
  const renewed = feel(same, node([ready()]), lease("b"), at(49_000));
  assert.equal(untilSilent(node([ready()]), renewed, at(49_000)), 50_000);
  const beaten = feel(renewed, node([ready("True", "2")]), lease("b"), at(90_000));
  assert.equal(untilSilent(node([ready("True", "2")]), beaten, at(90_000)), 50_000);
  assert.equal(untilSilent(node(), feel(undefined, node(), undefined, at(0)), at(0)), 50_000, "sixty since its making");
});

test("a clock that is set, forward or back, makes no node silent, and keeps none alive", () => {
  const first = feel(undefined, node([ready()]), lease("a"), at(0));
  for (const hours of [1, -1]) {
    const later = (ms: number) => at(ms, hours * 3_600_000);
    assert.equal(
      untilSilent(node([ready()]), feel(first, node([ready()]), lease("a"), later(1_000)), later(1_000)),
      49_000,
    );
    assert.equal(
      untilSilent(node([ready()]), feel(first, node([ready()]), lease("a"), later(50_000)), later(50_000)),
      0,
    );
  }
});

test("nothing is known of a silent node", () => {
  const conditions = silentConditions(node([ready(), { type: "Other", status: "True" }]), NOW);
  const texts = conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
  assert.deepEqual(texts, [
    "Ready Unknown NodeStatusUnknown",
    "Other True undefined",
    "MemoryPressure Unknown NodeStatusNeverUpdated",
    "DiskPressure Unknown NodeStatusNeverUpdated",
    "PIDPressure Unknown NodeStatusNeverUpdated",
  ]);
});

test("conditions become taints, and go with them", () => {
  const taints = (conditions: object[], spec: object = {}) =>
    wantedTaints(node(conditions, spec), true, NOW)?.map(
      ({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`,
    );
  assert.equal(taints([ready()]), undefined);
  assert.deepEqual(taints([ready("False")]), ["not-ready:NoSchedule", "not-ready:NoExecute"]);
  assert.deepEqual(taints([ready("Unknown")]), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
  assert.deepEqual(taints([ready()], { unschedulable: true }), ["unschedulable:NoSchedule"]);
  const alone = wantedTaints(node([ready("Unknown")]), false, NOW)?.map(({ effect }) => effect);
  assert.deepEqual(alone, ["NoSchedule"], "where no node is ready, pods stay");
  const own = { key: "mine", effect: "NoSchedule" };
  const left = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
  assert.deepEqual(taints([ready()], { taints: [own, left] }), ["mine:NoSchedule"]);
  assert.deepEqual(taints([ready(), { type: "DiskPressure", status: "True" }], { taints: [own] }), [
    "mine:NoSchedule",
    "disk-pressure:NoSchedule",
  ]);
});
