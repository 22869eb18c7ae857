import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Site } from "@fjord/api";
import type { Node } from "@fjord/kube";
import { ownNetwork } from "./own-network.ts";
import { formatCidr } from "./ranges.ts";

const siteOf = (network: object | undefined, endpoints?: string[]): Site =>
  newObject(Site, {
    metadata: { name: "own" },
    spec: { ...(network && { network }), ...(endpoints && { endpoints }) },
  });
const nodeOf = (podCIDRs: string[], ...addresses: string[]): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node" },
  spec: { podCIDRs },
  status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
});

describe("the own network", () => {
  it("is none where the owner does not speak of it", () => {
    assert.equal(ownNetwork(siteOf(undefined), [nodeOf(["10.42.0.0/24"])], []), undefined);
    assert.equal(ownNetwork(undefined, [], []), undefined);
  });

  it("has the ranges that its nodes tell, put together", () => {
    const nodes = [nodeOf(["10.42.0.0/24", "fd00::/64"]), nodeOf(["10.42.1.0/24", "fd00:0:0:1::/64"])];
    const own = ownNetwork(siteOf({}), nodes, []);
    assert.deepEqual(own?.ranges.map(formatCidr), ["10.42.0.0/23", "fd00::/63"]);
  });

  it("has the ranges that its owner names, whatever nodes tell", () => {
    const own = ownNetwork(siteOf({ podRanges: ["10.42.0.0/16"] }), [nodeOf(["10.42.1.0/24"])], []);
    assert.deepEqual(own?.ranges.map(formatCidr), ["10.42.0.0/16"]);
  });

  it("keeps for itself what pods, Services, nodes with their neighbours, and its owner have", () => {
    const site = siteOf({ podRanges: ["10.42.0.0/16"], reserved: ["192.168.0.0/16"] });
    const own = ownNetwork(site, [nodeOf(["10.50.0.0/24"], "172.18.0.2", "fd00::5", "my-node")], ["10.96.0.0/16"]);
    assert.deepEqual(own?.taken.map(formatCidr).sort(), [
      "10.42.0.0/16",
      "10.50.0.0/24",
      "10.96.0.0/16",
      "172.18.0.0/24",
      "192.168.0.0/16",
      "fd00::/64",
    ]);
  });

  it("is reached where its agent is, unless its owner says otherwise", () => {
    const endpoints = ["https://wave.example:7443", "https://[2001:db8::1]:7443/agent", "https://wave.example"];
    assert.deepEqual(ownNetwork(siteOf({ port: 4000 }, endpoints), [], [])?.endpoints, [
      "wave.example:4000",
      "[2001:db8::1]:4000",
    ]);
    assert.deepEqual(ownNetwork(siteOf({ endpoints: ["gate.example:1"] }, endpoints), [], [])?.endpoints, [
      "gate.example:1",
    ]);
  });

  it("is reached first where its links are now", () => {
    const site = siteOf({ endpoints: ["one.example:1", "two.example:1"] });
    const gateway = { node: "two", addresses: [], endpoints: ["two.example:1"] };
    assert.deepEqual(ownNetwork({ ...site, status: { ...site.status, gateway } }, [], [])?.endpoints, [
      "two.example:1",
      "one.example:1",
    ]);
  });

  describe("with lanes", () => {
    const lanes = (network: object, status: object = {}) => {
      const site = siteOf({ endpoints: ["gate.example:1000"], ...network });
      return ownNetwork({ ...site, status: { ...site.status, ...status } }, [], [])?.lanes;
    };

    it("has one unless its owner wants more", () => assert.deepEqual(lanes({}), []));

    it("is reached at the next ports", () => {
      assert.deepEqual(lanes({ lanes: 3 }), [["gate.example:1001"], ["gate.example:1002"]]);
    });

    it("is reached first at the node that carries its links", () => {
      const gateway = { node: "one", addresses: [], endpoints: ["one.example:7"] };
      assert.deepEqual(lanes({ lanes: 2 }, { gateway }), [["one.example:8", "gate.example:1001"]]);
    });

    it("is reached on each at the node that carries it, where several do", () => {
      const at = (lane: number, endpoint: string) => ({ lane, node: `n${lane}`, addresses: [], endpoints: [endpoint] });
      const gateway = { node: "n0", addresses: [], endpoints: ["zero.example:7"] };
      const carried = [at(0, "zero.example:7"), at(2, "two.example:9")];
      assert.deepEqual(lanes({ lanes: 3 }, { gateway: { ...gateway, lanes: carried } }), [
        ["zero.example:8", "gate.example:1001"],
        ["two.example:9", "zero.example:9", "gate.example:1002"],
      ]);
      const moved = { ...gateway, node: "n7", lanes: carried };
      assert.deepEqual(lanes({ lanes: 3 }, { gateway: moved })?.[1], ["zero.example:9", "gate.example:1002"]);
    });

    it("has no more than there are ports", () => {
      assert.deepEqual(lanes({ lanes: 8, port: 65_534, endpoints: ["a:65534"] }), [["a:65535"]]);
      assert.deepEqual(lanes({ lanes: 2, endpoints: ["a:65535"] }), [[]]);
    });
  });

  it("keeps the way open where it cannot be dialled", () => {
    assert.equal(ownNetwork(siteOf({}), [], [])?.keepaliveSeconds, 25);
    assert.equal(ownNetwork(siteOf({ endpoints: ["a:1"] }), [], [])?.keepaliveSeconds, undefined);
  });
});
