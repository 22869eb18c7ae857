import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import type { WayState } from "../fabric/way.ts";
import type { NodeNetwork } from "./node-network.ts";
import { NodeWay } from "./node-way.ts";

/** A node on which nothing was made yet, with what was changed there. */
function node() {
  const changes: string[] = [];
  let fails = false;
  const network = {
    async ip(...args: string[]) {
      if (args.includes("get")) return JSON.stringify([{ dev: "eth0" }]);
      if (!args.includes("show")) changes.push(args.slice(0, 2).join(" "));
      return "[]";
    },
    async ipBatch(_: number, lines: readonly string[]) {
      changes.push(...lines.map((line) => line.split(" ").slice(0, 3).join(" ")));
    },
    async nftShown() {
      if (fails) throw new Error("nft fails");
      changes.push("firewall");
      return "";
    },
    async allowDetours() {},
  };
  return {
    way: new NodeWay({ network: network as unknown as NodeNetwork, logger: silentLogger }),
    changed: () => changes.splice(0),
    fail: (isSo: boolean) => {
      fails = isSo;
    },
  };
}

const peer = { siteId: "peer", ranges: ["240.0.0.0/16"], lanes: 2 };
const state = (silent: readonly number[], gateway = "192.0.2.7"): WayState => ({
  own: ["10.42.0.0/16"],
  ranges: ["240.0.0.0/16"],
  gateway: [gateway],
  nodes: [],
  lanes: { gateways: [["192.0.2.8"]], peers: [{ ...peer, silent }], isChosen: true, siteId: "own" },
  mtu: 1380,
});

describe("A node's way to the gateway", () => {
  it("is changed only where it is another: routes wait for nothing where a lane falls silent, nor does who is led by it", async () => {
    const { way, changed } = node();
    await way.apply(state([]));
    assert.ok(changed().some((each) => each.startsWith("route replace")));
    await way.apply(state([1]));
    assert.deepEqual(changed(), ["firewall"]);
    await way.apply(state([1], "192.0.2.9"));
    const moved = changed();
    assert.ok(!moved.includes("firewall") && moved.includes("route replace 240.0.0.0/16"), String(moved));
    await way.apply({ ...state([1], "192.0.2.9"), mtu: 1340 });
    assert.deepEqual(changed(), []);
  });

  it("is made whole after a failure", async () => {
    const { way, changed, fail } = node();
    await way.apply(state([]));
    fail(true);
    await assert.rejects(way.apply(state([1])), /nft fails/);
    fail(false);
    changed();
    await way.apply(state([]));
    const all = changed();
    assert.ok(all.includes("firewall") && all.includes("route replace 240.0.0.0/16"), String(all));
  });
});
