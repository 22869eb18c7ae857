import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Contract, newObject } from "@fjord/api";
import type { CacheHandler } from "@fjord/kube";
import type { Home } from "../home.ts";
import { ContractStore } from "./contract-store.ts";

const terms = {
  id: "c-1",
  consumer: "a",
  provider: "b",
  resources: { cpu: "1" },
  notBefore: "2030-01-01T00:00:00Z",
  notAfter: "2030-01-01T01:00:00Z",
  enforcement: "None",
} as const;

const contractAt = (resourceVersion: string, uid = "u-1") =>
  newObject(Contract, { metadata: { name: "c-1", uid, resourceVersion }, spec: { terms } });

/** A store whose watch and whose writes' answers come when the test says so. */
function scene() {
  const shown = new Map<string, Contract>();
  const health: { resourceVersion?: string } = {};
  let handler: CacheHandler<Contract> | undefined;
  const cache = {
    health,
    get: ({ name }: { name: string }) => shown.get(name),
    addHandler: (given: CacheHandler<Contract>) => {
      handler = given;
    },
  };
  let answer: (contract: Contract) => void = () => {};
  const client = { patch: () => new Promise<Contract>((resolve) => (answer = resolve)) };
  const store = new ContractStore({ client, caches: { open: () => ({ cache }) } } as unknown as Home);
  return {
    store,
    answer: (contract: Contract) => answer(contract),
    add: (contract: Contract) => {
      shown.set("c-1", contract);
      handler?.onAdd?.(contract, { initial: false });
      health.resourceVersion = contract.metadata.resourceVersion ?? "";
    },
    remove: (contract: Contract, at: string) => {
      shown.delete("c-1");
      handler?.onDelete?.(contract, { unknownFinalState: false });
      health.resourceVersion = at;
    },
  };
}

describe("the store of contracts", () => {
  it("has a contract as its last write left it, before the watch says so", async () => {
    const { store, add, answer } = scene();
    add(contractAt("10"));
    const written = store.writeStatus("c-1", {});
    answer(contractAt("12"));
    await written;
    assert.equal(store.get("c-1")?.metadata.resourceVersion, "12");
  });

  it("does not take back a deleted contract for an answer that came late", async () => {
    const { store, add, remove, answer } = scene();
    add(contractAt("10"));
    const written = store.writeStatus("c-1", {});
    remove(contractAt("12"), "13");
    answer(contractAt("12"));
    await written;
    assert.equal(store.get("c-1"), undefined);
  });

  it("takes one of the same name that was made since", async () => {
    const { store, add, remove, answer } = scene();
    add(contractAt("10"));
    remove(contractAt("10"), "13");
    const written = store.writeStatus("c-1", {});
    answer(contractAt("15", "u-2"));
    await written;
    assert.equal(store.get("c-1")?.metadata.uid, "u-2");
  });

  it("tells of every change but of what guests take", async () => {
    const { store, add, answer } = scene();
    const told: string[] = [];
    add(contractAt("10"));
    store.onChange(({ metadata }) => void told.push(metadata.resourceVersion ?? ""));
    const used = { ...contractAt("12"), status: { used: { cpu: "1" } } };
    const written = store.writeStatus("c-1", used.status);
    answer(used);
    await written;
    add({ ...used, metadata: { ...used.metadata, resourceVersion: "13" }, status: { used: { cpu: "2" } } });
    assert.deepEqual(told, []);
    assert.deepEqual(store.get("c-1")?.status?.used, { cpu: "2" });
    add({ ...contractAt("14"), status: { used: { cpu: "2" }, peerStanding: "Cordoned" } });
    add({ ...contractAt("15"), spec: { ...contractAt("15").spec, terms: { ...terms, resources: { cpu: "2" } } } });
    add(contractAt("16", "u-2"));
    assert.deepEqual(told, ["14", "15", "16"]);
  });
});
