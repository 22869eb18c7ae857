import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "@fjord/kube";
import { startMicrokube } from "../../microkube.ts";
import { NodeTtl } from "./node-ttl-controller.ts";

test("nodes keep what they have read for longer the more there are, and not to and fro", () => {
  const ttl = new NodeTtl();
  const told = [1, 100, 101, 95, 90, 89, 3000, 1800, 1000, 0].map((nodes) => ttl.secondsFor(nodes));
  assert.deepEqual(told, [0, 0, 15, 15, 15, 0, 300, 300, 60, 0]);
});

test("a new node is told for how long", async () => {
  await using microkube = await startMicrokube({ scheduler: false });
  await using client = microkube.client();
  await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
  for await (const { type, object } of client.watch(Node, { signal: AbortSignal.timeout(60_000) })) {
    if (type === "BOOKMARK") continue;
    if (object.metadata.annotations?.["node.alpha.kubernetes.io/ttl"] === "0") return;
  }
  assert.fail("it was never told");
});
