import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { linkAddress, relayAddress } from "../link-address.ts";
import type { NetworkState } from "../network-state.ts";
import { fabricOf } from "./fabric.ts";
import { wholeFirewall } from "./firewall-change.ts";
import { flowBound, flowMark, flowTable } from "./flow-bound.ts";
import { testPeer, testState } from "./test-state.ts";

const fabric = (state: NetworkState) => fabricOf(state, { interfacePrefix: "fjord" });
const sources = (state: NetworkState, siteId: string) => {
  const { elements = new Map<string, Map<string, string>>() } = fabric(state).peers.get(siteId)?.rules ?? {};
  return Object.fromEntries(
    [...elements].flatMap(([set, each]) => (/^(from|gateways)/.test(set) ? [[set, [...each.keys()]]] : [])),
  );
};

describe("What one peer may have of a node's flows", () => {
  it("is a share of what the kernel remembers, in parts that are short", () => {
    assert.deepEqual(flowBound(262_144), { bits: 8, held: 128, perSecond: 1024, burst: 16_384 });
    assert.deepEqual(flowBound(65_536), { bits: 6, held: 128, perSecond: 256, burst: 4096 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 30 }), (remembered) => {
        const { bits, held, perSecond, burst } = flowBound(remembered);
        assert.ok(bits >= 0 && bits <= 10 && held >= 1 && perSecond >= 1 && burst >= 1);
        if (remembered >= 1024) assert.ok(held * 2 ** bits <= remembered / 8);
        if (bits < 10) assert.ok(held < 256);
        // With those that are closed, and remembered for two minutes more.
        if (remembered >= 1024) assert.ok(held * 2 ** bits + burst + 120 * perSecond < 0.7 * remembered);
      }),
    );
  });

  it("is counted by all that WireGuard takes from it: its ranges and its gateway, on each lane and behind hubs", () => {
    const state = { ...testState(2), siteId: "own" };
    assert.deepEqual(sources(state, "peer0"), { "from4-16": ["240.0.0.0"], gateways6: [linkAddress("peer0")] });
    const both = {
      ...testPeer(0),
      peer: [...testPeer(0).peer, { range: "fd42::/64", called: "fd66:6a6f::/64" }],
      relayTo: ["peer1"],
    };
    assert.deepEqual(sources({ ...state, parallel: 2, peers: [both, testPeer(1)] }, "peer0"), {
      "from4-16": ["240.0.0.0"],
      "from6-64": ["fd66:6a6f::"],
      gateways6: [linkAddress("peer0"), linkAddress("peer0", 1)],
      gateways4: [relayAddress("peer0")],
    });
  });

  it("has a mark that leaves room for the parts, and is the same in every process", () => {
    const marks = Array.from({ length: 1_000 }, (_, i) => flowMark(`site${i}`));
    assert.ok(marks.every((mark) => mark % 1024 === 0 && mark >= 0 && mark < 2 ** 32));
    assert.ok(new Set(marks).size > 995);
    assert.equal(flowMark("peer0"), flowMark("peer0"));
  });

  it("takes as many rules for a thousand peers as for one", () => {
    const rules = (peers: number) =>
      [...fabric(testState(peers)).table.chains.values()].reduce((sum, each) => sum + each.rules.length, 0);
    assert.equal(rules(1_000), rules(1));
    assert.doesNotMatch(wholeFirewall(fabric(testState(1))), /fjord-flows/, "what was counted stays");
    const table = flowTable(["fjord0"], flowBound(262_144));
    assert.doesNotMatch(table, /delete|flush set/);
    assert.match(table, /ct count 128 \} accept\nadd rule inet fjord-flows holding counter name refused drop/);
  });
});
