import assert from "node:assert/strict";
import { test } from "node:test";
import { Contract, VirtualNode } from "@fjord/api";
import { CoreEvent, type KubeClient, Pod } from "@fjord/kube";
import { drainFacts } from "./drain-facts.ts";

const DRAINED_AT = Date.parse("2030-01-01T12:00:00Z");
const REFUSAL = "2 pods cannot be evicted yet, shop/a among them: the disruption budget web needs 2 healthy pods";

const contract = {
  metadata: { name: "c-1" },
  spec: { terms: { consumer: "a", provider: "b" } },
  status: {
    side: "Consumer",
    phase: "Active",
    conditions: [
      { type: "Active", status: "False", reason: "Drained", lastTransitionTime: new Date(DRAINED_AT).toISOString() },
    ],
  },
};

/** What is known of the refusal at a time, where the agent last wrote of it at another; both in seconds of the drain. */
async function refusalAt(now: number, written: number, pod: object = {}): Promise<string | undefined> {
  const lastTimestamp = new Date(DRAINED_AT + written * 1000).toISOString();
  const items = new Map<unknown, object[]>([
    [Contract, [contract]],
    [VirtualNode, [{ metadata: { name: "wave" }, spec: { contract: "c-1" } }]],
    [Pod, [{ metadata: { name: "a", namespace: "shop", ...pod } }]],
    [CoreEvent, [{ metadata: {}, reason: "EvictionRefused", message: REFUSAL, lastTimestamp }]],
  ]);
  const client = {
    list: async (kind: unknown) => ({ items: items.get(kind) ?? [] }),
    get: async () => ({ spec: { unschedulable: true } }),
  } as unknown as KubeClient;
  const facts = await drainFacts(client, "c-1", DRAINED_AT + now * 1000, new AbortController().signal);
  return facts.nodes[0]?.refusal;
}

test("what holds a drain up is known for as long as it does, though the agent writes of it ever less often", async () => {
  for (const now of [121, 180, 300, 420]) assert.equal(await refusalAt(now, 120), REFUSAL, `after ${now} s`);
  assert.equal(await refusalAt(1_000, 120), undefined, "it was not repeated");
});

test("what was refused in an earlier drain, or of pods that are ending by now, holds up nothing", async () => {
  assert.equal(await refusalAt(10, -30), undefined);
  assert.equal(await refusalAt(10, 5, { deletionTimestamp: "2030-01-01T12:00:08Z" }), undefined);
});

test("a node of the cluster that a peering's would be called as is not waited for", async () => {
  const conditions = [{ type: "Ready", status: "False", reason: "NodeNameTaken", message: "" }];
  const virtual = { metadata: { name: "worker-1" }, spec: { contract: "c-1" }, status: { conditions } };
  const items = new Map<unknown, object[]>([
    [Contract, [contract]],
    [VirtualNode, [virtual]],
    [Pod, [{ metadata: { name: "a", namespace: "shop" } }]],
  ]);
  const client = {
    list: async (kind: unknown) => ({ items: items.get(kind) ?? [] }),
    get: async () => ({ spec: {} }),
  } as unknown as KubeClient;
  const { nodes } = await drainFacts(client, "c-1", DRAINED_AT, new AbortController().signal);
  assert.deepEqual(nodes, []);
});
