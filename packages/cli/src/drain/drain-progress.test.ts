import assert from "node:assert/strict";
import { test } from "node:test";
import { type DrainFacts, drainProgress, nodesOf } from "./drain-progress.ts";

const contract = (name: string, reason: string, more: object = {}) => ({
  metadata: { name },
  status: { phase: "Active", conditions: [{ type: "Active", status: "False", reason }], ...more },
});
const old = contract("c-old", "Ended", { phase: "Ended", supersededBy: "c-1" });
const pod = (name: string, more: object = {}, status: object = { phase: "Running" }) => ({
  metadata: { name, namespace: "shop", ...more },
  status,
});
const ending = { deletionTimestamp: "2030-01-01T00:00:00Z" };
const node = (pods: object[], more: object = {}) => ({
  virtual: { metadata: { name: "wave" }, spec: { contract: "c-1" }, status: {} },
  node: { spec: { unschedulable: true } },
  pods,
  ...more,
});
const look = (given: object) =>
  drainProgress({
    contract: "c-1",
    contracts: [old, contract("c-1", "Drained")],
    nodes: [],
    guests: [],
    ...given,
  } as unknown as DrainFacts);

test("a contract is drained once no pod of it is left, and not while they are ending", () => {
  assert.deepEqual(look({ nodes: [node([pod("a"), pod("b", ending)])] }), {
    done: false,
    progress: "c-1: 2 pods left: shop/a, shop/b (ending)",
  });
  assert.deepEqual(look({ nodes: [node([pod("b", ending)])] }), {
    done: false,
    progress: "c-1: 1 pod left: shop/b (ending)",
  });
  assert.deepEqual(look({ nodes: [node([])] }), { done: true });
  const many = ["a", "b", "c", "d", "e"].map((name) => pod(name));
  assert.match(JSON.stringify(look({ nodes: [node(many)] })), /5 pods left: shop\/a, shop\/b, shop\/c, and 2 more"/);
});

test("what a drain leaves alone is not waited for", () => {
  const daemon = { ownerReferences: [{ kind: "DaemonSet", controller: true }] };
  const everywhere = { ...pod("a", daemon), spec: { tolerations: [{ operator: "Exists" }] } };
  assert.deepEqual(look({ nodes: [node([everywhere, pod("b", {}, { phase: "Succeeded" })])] }), { done: true });
});

test("a pod of a DaemonSet is waited for as any other", () => {
  const daemon = pod("a", { ownerReferences: [{ kind: "DaemonSet", controller: true }] });
  assert.deepEqual(look({ nodes: [node([daemon])] }), { done: false, progress: "c-1: 1 pod left: shop/a" });
});

test("while pods can still come, it is not over", () => {
  const open = look({ nodes: [node([], { node: { spec: {} } })] });
  assert.deepEqual(open, { done: false, progress: "c-1: node wave takes pods still" });
  const unheard = look({ contracts: [contract("c-1", "InForce")] });
  assert.deepEqual(unheard, { done: false, progress: "c-1: waiting for the agent" });
  assert.deepEqual(look({ contracts: [contract("c-1", "Ended", { phase: "Ended" })], nodes: [node([pod("a")])] }), {
    done: true,
  });
});

test("the provider waits for the guests under the contract, by whichever of its names", () => {
  const under = (name: string, id: string) => pod(name, { annotations: { "fjord.dev/contract": id } });
  const guests = [under("a", "c-1"), under("b", "c-old"), under("c", "c-2"), pod("d")];
  const evicted = "c-1: 2 pods left: shop/a, shop/b; the consumer evicts them as its disruption budgets let it";
  assert.deepEqual(look({ guests }), { done: false, progress: evicted });
  const own = { ...contract("c-1", "Drained"), spec: { standing: "Drained" } };
  assert.deepEqual(look({ guests, contracts: [old, own] }), {
    done: false,
    progress: `${evicted}, and half a minute later they are ended here`,
  });
  const going = [pod("a", { ...ending, annotations: { "fjord.dev/contract": "c-1" } })];
  assert.deepEqual(look({ guests: going }), { done: false, progress: "c-1: 1 pod left: shop/a (ending)" });
  const over = pod("b", { annotations: { "fjord.dev/contract": "c-1" } }, { phase: "Succeeded" });
  assert.deepEqual(look({ guests: [...going, over] }), look({ guests: going }), "nobody evicts one that has ended");
  const nodes = [
    { metadata: { name: "x" }, spec: { contract: "c-old" } },
    { metadata: { name: "y" }, spec: { contract: "c-2" } },
  ];
  const contracts = [old, contract("c-1", "Drained")];
  assert.deepEqual(
    nodesOf("c-1", contracts as never, nodes as never).map(({ metadata }) => metadata.name),
    ["x"],
  );
});

test("a budget, or a site that is away, is named as what holds it up", () => {
  const away = { conditions: [{ type: "Ready", status: "Unknown", reason: "ProviderUnreachable", message: "silent" }] };
  const virtual = { metadata: { name: "wave" }, spec: { contract: "c-1" }, status: away };
  const held = look({ nodes: [node([pod("a")], { virtual, refusal: "shop/a cannot be evicted yet" })] });
  assert.deepEqual(held, {
    done: false,
    progress:
      "c-1: 1 pod left: shop/a; node wave is not ready: ProviderUnreachable: silent; shop/a cannot be evicted yet",
  });
});
