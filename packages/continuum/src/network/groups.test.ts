import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "@fjord/kube";
import {
  changesAddresses,
  consumerGroups,
  exporterGroups,
  importerGroups,
  machineGroups,
  providerGroups,
} from "./groups.ts";

const plan = {
  site: "mzxw6ytboi2dcmrtgq2tmnzyhe",
  own: [{ range: "10.42.0.0/16", called: "10.42.0.0/16" }],
  peer: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
};
const podOf = (node: string, ips: string[], change: { spec?: object; phase?: string; namespace?: string } = {}): Pod =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: change.namespace ?? "shop" },
    spec: { containers: [], nodeName: node, ...change.spec },
    status: { phase: change.phase ?? "Running", ...(ips.length > 0 && { podIPs: ips.map((ip) => ({ ip })) }) },
  }) as Pod;
const shared = (name: string, ...pods: Pod[]) => ({
  name,
  pods,
  isThere: ({ spec }: Pod) => spec?.nodeName === "wave",
  isElsewhere: ({ spec }: Pod) => spec?.nodeName !== "own",
});

describe("who may talk over a link, at the consumer", () => {
  it("are its machines by what stands for them, with pods there and not with what is exported", () => {
    const exports = { range: "252.0.0.0/20", called: "240.8.0.0/20" };
    const named = { ...plan, own: [...plan.own, exports], peer: [...plan.peer, exports] };
    assert.deepEqual(machineGroups(named), [
      { name: "fjord.dev/machines", local: ["252.0.15.255"], remote: ["240.0.0.0/16"] },
    ]);
    assert.deepEqual(machineGroups(plan), [], "the peer has no name for them yet");
  });

  it("are a namespace's pods here and there", () => {
    const groups = consumerGroups(plan, [
      shared("shop", podOf("own", ["10.42.0.7"]), podOf("own", ["10.42.0.6"]), podOf("wave", ["240.0.3.9"])),
    ]);
    assert.deepEqual(groups, [{ name: "shop", local: ["10.42.0.6", "10.42.0.7"], remote: ["240.0.3.9"] }]);
  });

  it("are what a namespace imports of its own site, and its pods there", () => {
    const exported = { range: "252.0.0.0/20", called: "240.8.0.0/20" };
    const named = { ...plan, own: [...plan.own, exported] };
    const shop = { ...shared("shop", podOf("wave", ["240.0.3.9"])), exported: ["252.0.0.7", "252.0.0.7"] };
    const bank = shared("bank", podOf("wave", ["240.0.3.10"]));
    assert.deepEqual(consumerGroups(named, [shop, bank]), [
      { name: "shop", local: ["252.0.0.7"], remote: ["240.0.3.9"] },
    ]);
    assert.deepEqual(consumerGroups(plan, [shop]), [], "the peer has no name for it yet");
  });

  it("are not the pods at a third site, nor those on the host's network, nor those that have ended", () => {
    const pods = [
      podOf("own", ["10.42.0.7"]),
      podOf("other-wave", ["240.1.0.1"]),
      podOf("wave", ["240.0.0.1"]),
      podOf("wave", ["240.0.0.2"], { phase: "Succeeded" }),
      podOf("wave", ["240.0.0.3"], { phase: "Failed" }),
      podOf("own", ["172.18.0.2"], { spec: { hostNetwork: true } }),
      podOf("own", ["192.168.7.7"]),
      podOf("own", []),
    ];
    assert.deepEqual(consumerGroups(plan, [shared("shop", ...pods)]), [
      { name: "shop", local: ["10.42.0.7"], remote: ["240.0.0.1"] },
    ]);
  });

  it("are nobody where one side has none", () => {
    assert.deepEqual(consumerGroups(plan, [shared("shop", podOf("own", ["10.42.0.7"]))]), []);
    assert.deepEqual(consumerGroups(plan, [shared("shop", podOf("wave", ["240.0.0.1"]))]), []);
    assert.deepEqual(consumerGroups(plan, []), []);
  });

  it("keep namespaces apart", () => {
    const groups = consumerGroups(plan, [
      shared("shop", podOf("own", ["10.42.0.7"]), podOf("wave", ["240.0.0.1"])),
      shared("bank", podOf("own", ["10.42.0.8"]), podOf("wave", ["240.0.0.2"])),
    ]);
    assert.deepEqual(groups, [
      { name: "bank", local: ["10.42.0.8"], remote: ["240.0.0.2"] },
      { name: "shop", local: ["10.42.0.7"], remote: ["240.0.0.1"] },
    ]);
  });
});

describe("who may talk over a link, at the provider", () => {
  it("are the consumer's guests, with all that the consumer has", () => {
    const guests = [
      podOf("n", ["10.42.1.1"], { namespace: "shop-a" }),
      podOf("n", ["10.42.1.2"], { namespace: "shop-a" }),
      podOf("n", ["10.42.1.3"], { namespace: "bank-a" }),
      podOf("n", [], { namespace: "bank-a" }),
      podOf("n", ["172.18.0.2"], { namespace: "bank-a", spec: { hostNetwork: true } }),
    ];
    assert.deepEqual(providerGroups(plan, guests), [
      { name: "bank-a", local: ["10.42.1.3"], remote: ["240.0.0.0/16"] },
      { name: "shop-a", local: ["10.42.1.1", "10.42.1.2"], remote: ["240.0.0.0/16"] },
    ]);
    assert.deepEqual(providerGroups(plan, []), []);
  });
});

describe("who may talk over a link, by Exports and Imports", () => {
  const both = {
    ...plan,
    own: [...plan.own, { range: "252.0.0.0/20", called: "240.3.0.0/20" }],
    peer: [...plan.peer, { range: "252.0.0.0/20", called: "240.1.0.0/20" }],
  };

  it("are at the exporter what is exported, and all of the peer", () => {
    const entries = [{ addresses: ["252.0.0.7", "fd66:6a71::7"] }, { addresses: ["252.0.0.6"] }];
    assert.deepEqual(exporterGroups(both, entries), [
      { name: "fjord.dev/exports", local: ["252.0.0.6", "252.0.0.7"], remote: ["240.0.0.0/16", "240.1.0.0/20"] },
    ]);
    assert.deepEqual(exporterGroups(plan, entries), [], "until the peer has a name for it");
    assert.deepEqual(exporterGroups(both, []), []);
  });

  it("are at the importer the namespace's pods, and what it imports of that peer", () => {
    const pods = [podOf("own", ["10.42.0.7"]), podOf("own", ["10.42.0.8"], { spec: { hostNetwork: true } })];
    assert.deepEqual(importerGroups(both, [{ name: "shop", pods, addresses: ["240.1.0.7", "240.9.0.7"] }]), [
      { name: "fjord.dev/imports/shop", local: ["10.42.0.7"], remote: ["240.1.0.7"] },
    ]);
    assert.deepEqual(importerGroups(both, [{ name: "shop", pods: [], addresses: ["240.1.0.7"] }]), []);
  });
});

describe("what is heard of a guest", () => {
  const update = (old: Pod, object: Pod) => changesAddresses({ type: "update", old, object });

  it("matters to links when it gets an address, loses it or ends", () => {
    assert.ok(update(podOf("n", []), podOf("n", ["10.42.0.7"])));
    assert.ok(update(podOf("n", ["10.42.0.7"]), podOf("n", ["10.42.0.7", "fd00::7"])));
    assert.ok(update(podOf("n", ["10.42.0.7"]), podOf("n", ["10.42.0.7"], { phase: "Succeeded" })));
    assert.ok(changesAddresses({ type: "add", object: podOf("n", []), initial: false }));
    assert.ok(changesAddresses({ type: "delete", object: podOf("n", ["10.42.0.7"]) }));
  });

  it("does not when anything else of it changes", () => {
    assert.ok(!update(podOf("n", ["10.42.0.7"], { phase: "Pending" }), podOf("n", ["10.42.0.7"])));
    assert.ok(!update(podOf("n", []), podOf("m", [])));
    const own = { spec: { hostNetwork: true } };
    assert.ok(!update(podOf("n", [], own), podOf("n", ["192.0.2.1"], own)));
  });
});
