import assert from "node:assert/strict";
import { test } from "node:test";
import { type Contract, newObject, VirtualNode } from "@fjord/api";
import type { SharedCaches } from "@fjord/kube";
import { KnownVirtualNodes, NODE_FINALIZER } from "./known-virtual-nodes.ts";

const PROVIDER = "a".repeat(26);

function known(...nodes: VirtualNode[]): KnownVirtualNodes {
  const contract = { spec: { terms: { provider: PROVIDER } } } as Contract;
  const ofNodes = {
    addIndex() {},
    addHandler() {},
    get: ({ name }: { name: string }) => nodes.find(({ metadata }) => metadata.name === name),
    list: () => nodes,
  };
  const ofContracts = { addHandler() {}, get: () => contract };
  const open = (kind: unknown) => ({ cache: kind === VirtualNode ? ofNodes : ofContracts });
  return new KnownVirtualNodes({ open } as unknown as SharedCaches);
}

const node = (name: string, ...finalizers: string[]) =>
  newObject(VirtualNode, { metadata: { name, finalizers }, spec: { contract: "c-one" } });

test("pods of a Node are a provider's only where the Node is the VirtualNode's own", () => {
  const nodes = known(node("lively-wave", NODE_FINALIZER), node("worker-1"));
  assert.equal(nodes.get("lively-wave")?.site, PROVIDER);
  assert.equal(nodes.get("worker-1"), undefined, "a machine of the cluster may have that name");
  const names = [nodes.list(), nodes.at(PROVIDER)].map((each) => each.map(({ name }) => name));
  assert.deepEqual(names, [["lively-wave"], ["lively-wave"]]);
  assert.deepEqual(nodes.taken(), []);
  const worker = node("worker-1");
  worker.status = {
    conditions: [{ type: "Ready", status: "False", reason: "NodeNameTaken" }],
  } as VirtualNode["status"];
  assert.deepEqual(
    known(worker)
      .taken()
      .map(({ name }) => name),
    ["worker-1"],
  );
  assert.equal(nodes.wished("worker-1")?.site, PROVIDER, "whoever makes Nodes has to know that one is wished for");
});
