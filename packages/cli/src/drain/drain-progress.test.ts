import assert from "node:assert/strict";
import { test } from "node:test";
import { type DrainFacts, drainProgress, nodesOf } from "./drain-progress.ts";

const contract = (name: string, reason: string, more: object = {}) => ({
  metadata: { name },
  status: { phase: "Active", conditions: [{ type: "Active", status: "False", reason }], ...more },
});
const old = contract("c-1-old", "Ended", { phase: "Ended", supersededBy: "c-1-now" });
const pod = (name: string, more: object = {}, status: object = { phase: "Running" }) => ({
  metadata: { name, namespace: "shop", ...more },
  status,
});
const ending = { deletionTimestamp: "2030-01-01T00:00:00Z" };
const node = (pods: object[], more: object = {}) => ({
  virtual: { metadata: { name: "wave" }, spec: { contract: "c-1-now" }, status: {} },
  node: { spec: { unschedulable: true } },
  pods,
  ...more,
});
const look = (given: object) =>
  drainProgress({
    contract: "c-1-now",
    contracts: [old, contract("c-1-now", "Drained")],
    nodes: [],
    guests: [],
    ...given,
  } as unknown as DrainFacts);

test("a contract is drained once no pod of it is left, and not while they are ending", () => {
  assert.deepEqual(look({ nodes: [node([pod("a"), pod("b", ending)])] }), {
    done: false,
    progress: "c-1-now: 2 pods left: shop/a, shop/b (ending)",
  });
  assert.deepEqual(look({ nodes: [node([pod("b", ending)])] }), {
    done: false,
    progress: "c-1-now: 1 pod left: shop/b (ending)",
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
  assert.deepEqual(look({ nodes: [node([daemon])] }), { done: false, progress: "c-1-now: 1 pod left: shop/a" });
});

test("while pods can still come, it is not over", () => {
  const open = look({ nodes: [node([], { node: { spec: {} } })] });
  assert.deepEqual(open, { done: false, progress: "c-1-now: node wave takes pods still" });
  const unheard = look({ contracts: [contract("c-1-now", "InForce")] });
  assert.deepEqual(unheard, { done: false, progress: "c-1-now: waiting for the agent" });
  assert.deepEqual(look({ contracts: [contract("c-1-now", "Ended", { phase: "Ended" })], nodes: [node([pod("a")])] }), {
    done: true,
  });
});

test("the provider waits for the guests under the contract, by whichever of its names", () => {
  const under = (name: string, id: string) => pod(name, { annotations: { "fjord.dev/contract": id } });
  const guests = [under("a", "c-1-now"), under("b", "c-1-old"), under("c", "c-2"), pod("d")];
  const evicted = "c-1-now: 2 pods left: shop/a, shop/b; the consumer evicts them as its disruption budgets let it";
  assert.deepEqual(look({ guests }), { done: false, progress: evicted });
  const own = { ...contract("c-1-now", "Drained"), spec: { standing: "Drained" } };
  assert.deepEqual(look({ guests, contracts: [old, own] }), {
    done: false,
    progress: `${evicted}, and half a minute later they are ended here`,
  });
  const going = [pod("a", { ...ending, annotations: { "fjord.dev/contract": "c-1-now" } })];
  assert.deepEqual(look({ guests: going }), { done: false, progress: "c-1-now: 1 pod left: shop/a (ending)" });
  const over = pod("b", { annotations: { "fjord.dev/contract": "c-1-now" } }, { phase: "Succeeded" });
  assert.deepEqual(look({ guests: [...going, over] }), look({ guests: going }), "nobody evicts one that has ended");
  const nodes = [
    { metadata: { name: "x" }, spec: { contract: "c-1" } },
    { metadata: { name: "y" }, spec: { contract: "c-2" } },
  ];
  assert.deepEqual(
    nodesOf("c-1-now", nodes as never).map(({ metadata }) => metadata.name),
    ["x"],
  );
});

test("guests that began under a contract of which its provider knows no more are waited for, and those of one that is renewed meanwhile", () => {
  const guests = [pod("a", { annotations: { "fjord.dev/contract": "c-1" } })];
  for (const name of ["c-1-now", "c-1-later"]) {
    const { done, ...rest } = look({ guests, contracts: [contract(name, "Drained")] });
    assert.equal(done, false);
    assert.match(JSON.stringify(rest), /1 pod left: shop\/a/);
  }
  assert.deepEqual(look({ guests, contracts: [contract("c-1-later", "NotSigned", { phase: "Proposed" })] }), {
    done: true,
  });
});

test("a budget, or a site that is away, is named as what holds it up", () => {
  const away = { conditions: [{ type: "Ready", status: "Unknown", reason: "ProviderUnreachable", message: "silent" }] };
  const virtual = { metadata: { name: "wave" }, spec: { contract: "c-1-now" }, status: away };
  const held = look({ nodes: [node([pod("a")], { virtual, refusal: "shop/a cannot be evicted yet" })] });
  assert.deepEqual(held, {
    done: false,
    progress:
      "c-1-now: 1 pod left: shop/a; node wave is not ready: ProviderUnreachable: silent; shop/a cannot be evicted yet",
  });
});
