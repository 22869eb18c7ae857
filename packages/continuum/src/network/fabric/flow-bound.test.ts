import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { linkAddress, relayAddress } from "../link-address.ts";
import type { NetworkState } from "../network-state.ts";
import { fabricOf } from "./fabric.ts";
import { wholeFirewall } from "./firewall-change.ts";
import { CLOSED_SECONDS, flowBound, flowMark, flowTable } from "./flow-bound.ts";
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
    const told = { remembersClosed: 10 };
    assert.deepEqual(flowBound(262_144, 1), { bits: 8, held: 128, perMinute: 61_440, burst: 4_096, ...told });
    assert.deepEqual(flowBound(65_536, 4), { bits: 6, held: 128, perMinute: 15_360, burst: 1_024, ...told });
    assert.deepEqual(flowBound(262_144, 1_000), { bits: 0, held: 128, perMinute: 240, burst: 16, ...told });
    for (const [peers, same] of [
      [1, 4],
      [5, 8],
      [513, 1_024],
    ] as const)
      assert.deepEqual(flowBound(262_144, peers), flowBound(262_144, same));
  });

  it("leaves a quarter of it to the node, however many peers take all that is theirs, closed ones with it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4_096 }),
        fc.integer({ min: 256, max: 2 ** 20 }),
        fc.constantFrom(CLOSED_SECONDS.told, CLOSED_SECONDS.untold),
        (peers, each, remembersClosed) => {
          const remembered = Math.max(4, peers) * each;
          const { bits, held, perMinute, burst } = flowBound(remembered, peers, remembersClosed);
          assert.ok(bits >= 0 && bits <= 10 && held >= 1 && perMinute >= 1 && burst >= 1);
          if (bits < 10) assert.ok(held < 256);
          const closed = burst + Math.ceil((perMinute / 60) * remembersClosed);
          assert.ok(peers * (held * 2 ** bits + closed) <= 0.75 * remembered);
        },
      ),
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

  it("has a mark that peers cannot choose by choosing their keys", () => {
    assert.equal(flowMark("peer0", "boot"), flowMark("peer0", "boot"));
    assert.notEqual(flowMark("peer0", "boot"), flowMark("peer0", "other"));
    const state = { ...testState(1), siteId: "own" };
    const marked = (secret: string) =>
      fabricOf(state, { interfacePrefix: "fjord", secret }).peers.get("peer0")?.rules.elements.get("from4-16");
    assert.deepEqual([...(marked("boot")?.values() ?? [])], [`: ${flowMark("peer0", "boot")}`]);
  });

  it("takes as many rules for a thousand peers as for one", () => {
    const rules = (peers: number) =>
      [...fabric(testState(peers)).table.chains.values()].reduce((sum, each) => sum + each.rules.length, 0);
    assert.equal(rules(1_000), rules(1));
    assert.doesNotMatch(wholeFirewall(fabric(testState(1))), /fjord-flows/, "what was counted stays");
    const table = flowTable(["fjord0"], flowBound(262_144, 1));
    assert.doesNotMatch(table, /delete|flush set/);
    assert.match(table, /ct count 128 \} goto admit\nadd rule inet fjord-flows holding counter name refused drop/);
  });
});
