import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import type { EventNote, Node } from "@fjord/kube";
import { NodeEvents } from "./node-events.ts";
import { timeOf } from "./node-object.ts";

function start() {
  const clock = new ManualClock();
  const told: (EventNote & { object: unknown })[] = [];
  const events = { event: (object: unknown, note: EventNote) => void told.push({ ...note, object }) };
  const node = (type: string, status: string, at = clock.now()): Node => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "edge-1", uid: "77" },
    status: { conditions: [{ type, status, lastTransitionTime: timeOf(at) }] },
  });
  const nodeEvents = new NodeEvents({ nodeName: "edge-1", events, clock });
  return { clock, told, node, nodeEvents, reasons: () => told.map(({ reason }) => reason) };
}

test("a node tells that it starts, and each change of its conditions once", async () => {
  const { clock, told, node, nodeEvents, reasons } = start();
  nodeEvents.starting();
  const ready = node("Ready", "True");
  nodeEvents.see(ready);
  nodeEvents.see(ready);
  await clock.advance(5_000);
  nodeEvents.see(node("Ready", "False"));
  await clock.advance(5_000);
  nodeEvents.see(node("Ready", "Unknown"));
  await clock.advance(5_000);
  nodeEvents.see(node("Ready", "True"));
  nodeEvents.see(node("MemoryPressure", "True"));
  assert.deepEqual(reasons(), ["Starting", "NodeReady", "NodeNotReady", "NodeReady", "NodeHasInsufficientMemory"]);
  assert.equal(told[1]?.message, "Node edge-1 status is now: NodeReady");
  assert.deepEqual(told[1]?.object, { apiVersion: "v1", kind: "Node", metadata: { name: "edge-1", uid: "edge-1" } });
});

test("a restart of a node that was and is ready changes nothing", async () => {
  const { clock, node, nodeEvents, reasons } = start();
  nodeEvents.see(node("Ready", "True", clock.now() - 60_000));
  nodeEvents.see(node("DiskPressure", "False", clock.now() - 60_000));
  assert.deepEqual(reasons(), []);
});
