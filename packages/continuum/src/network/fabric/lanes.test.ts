import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRange } from "../ip-range.ts";
import { fabricOf } from "./fabric.ts";
import { firewallChange, wholeFirewall } from "./firewall-change.ts";
import { exportPorts, type LanedPeer, laneMark, laneParts, laneRules, laneTargets } from "./lanes.ts";
import { testState } from "./test-state.ts";

const options = { interfacePrefix: "fjord" };
const peer: LanedPeer = { siteId: "m", ranges: [parseRange("240.0.0.0/16") as never], lanes: 3, silent: [] };
const chain = (change: Partial<LanedPeer> = {}, own: { siteId?: string; carried?: number[] } = {}) =>
  laneRules({ ...peer, ...change }, { siteId: "a", carried: [0, 1, 2], ...own }).chains.get("lane-m") ?? [];

describe("The lane of a flow", () => {
  it("is by its number, and where that lane is silent the next one that is not", () => {
    assert.deepEqual(laneTargets(4, []), [0, 1, 2, 3]);
    assert.deepEqual(laneTargets(4, [1]), [0, 2, 2, 3]);
    assert.deepEqual(laneTargets(4, [3, 0]), [1, 1, 2, 1]);
    assert.deepEqual(laneTargets(2, [0]), [1, 1]);
    assert.deepEqual(laneTargets(1, []), [0]);
  });

  it("stays where all lanes are silent, or such as there are none of", () => {
    assert.deepEqual(laneTargets(3, [0, 1, 2]), [0, 1, 2]);
    assert.deepEqual(laneTargets(2, [5]), [0, 1]);
  });

  it("is by ports in the order of the sites' ids, so that both ends come to the same", () => {
    assert.match(chain({}, { siteId: "a" }).at(-1) ?? "", /jhash th sport \. th dport mod 3 seed 0x666a vmap/);
    assert.match(chain({}, { siteId: "z" }).at(-1) ?? "", /jhash th dport \. th sport mod 3 seed 0x666a vmap/);
  });

  it("is the first one for what has no ports, or the first that is not silent", () => {
    assert.doesNotMatch(chain().at(-1) ?? "", /^goto/);
    assert.equal(chain({ silent: [0, 1] }).at(-1), "goto lane2");
  });

  it("is told by a port of exports first, whichever end has it", () => {
    const [first, second] = chain({}, { siteId: "a" });
    assert.match(first ?? "", /th sport vmap { 61440-61951 : goto lane0, 61952-62463 : goto lane1,/);
    assert.match(second ?? "", /th dport vmap { 61440-61951 /);
    assert.match(chain({}, { siteId: "z" })[0] ?? "", /th dport vmap/);
    assert.match(chain({ silent: [1] })[0] ?? "", /61952-62463 : goto lane2/);
    assert.equal(exportPorts(7), "65024-65535");
  });

  it("is one that is here for answers of what this node has led elsewhere", () => {
    const rules = (carried: number[], silent: number[] = []) =>
      chain({ silent }, { carried }).filter((rule) => rule.startsWith("ct direction reply ct status dnat"));
    assert.deepEqual(rules([1]), ["ct direction reply ct status dnat goto lane1"]);
    assert.match(rules([0, 2])[0] ?? "", /mod 2 seed 0x666a vmap { 0 : goto lane0, 1 : goto lane2 }/);
    assert.deepEqual(rules([0, 2], [2]), ["ct direction reply ct status dnat goto lane0"]);
    // All are here, or none: there is nothing to decide.
    assert.deepEqual([rules([0, 1, 2]), rules([]), rules([1], [1])], [[], [], []]);
  });

  it("is no question where a peer has one", () => {
    assert.equal(laneRules({ ...peer, lanes: 1 }, { carried: [0] }).chains.size, 0);
    assert.deepEqual(laneParts(1, { 4: [16], 6: [] }), { sets: new Map(), chains: new Map() });
  });

  it("stands in bits of the mark that are lent, and the first one has none", () => {
    assert.deepEqual([laneMark(0), laneMark(1), laneMark(7)], [undefined, "0x10/0x70", "0x70/0x70"]);
    const { chains } = laneParts(2, { 4: [16], 6: [64] });
    assert.deepEqual(chains.get("lane0")?.rules, ["meta mark set meta mark & 0xffffff8f"]);
    assert.deepEqual(chains.get("lane1")?.rules, ["meta mark set meta mark & 0xffffff8f | 0x10"]);
    assert.equal(chains.get("choose")?.rules.length, 2);
    assert.match(chains.get("give-back")?.rules[0] ?? "", /@laned4-16 meta mark set meta mark & 0xffffff8f$/);
  });
});

describe("Lanes of a node", () => {
  it("cost nothing where there is one: the table is what it was", () => {
    const text = wholeFirewall(fabricOf({ ...testState(2), siteId: "own" }, options));
    assert.doesNotMatch(text, /lane|jhash/);
    assert.equal(text, wholeFirewall(fabricOf({ ...testState(2), siteId: "own", parallel: 1 }, options)));
  });

  it("are as many rules for a packet, however many peers there are", () => {
    const rules = (peers: number) =>
      [...fabricOf({ ...testState(peers), parallel: 4 }, options).table.chains.values()].flatMap((each) => each.rules);
    assert.equal(rules(500).length, rules(1).length);
  });

  it("change for the one peer whose lane is silent, and for no other", () => {
    const before = fabricOf({ ...testState(100), parallel: 2 }, options);
    const silent = testState(100, (each) =>
      each.siteId === "peer7" ? { ...each, link: { ...each.link, silent: [1] } } : each,
    );
    const next = fabricOf({ ...silent, parallel: 2 }, options, before);
    const lines = firewallChange(before, next).trim().split("\n");
    assert.equal(lines[0], "flush chain inet fjord lane-peer7");
    assert.ok(lines.every((line) => line.includes("lane-peer7")));
  });

  it("have interfaces and ports by number, of those that are here", () => {
    const { interfaces } = fabricOf({ ...testState(1), parallel: 4, carried: [3, 1] }, options);
    assert.deepEqual(interfaces, [
      { name: "fjord1", lane: 1, listenPort: 51_821 },
      { name: "fjord3", lane: 3, listenPort: 51_823 },
    ]);
  });

  it("are where a peer says, at the next ports where it says nothing, and no more than it has", () => {
    const lanes = (link: object, parallel = 3) =>
      fabricOf(
        { ...testState(1, (each) => ({ ...each, link: { ...each.link, ...link } })), parallel, siteId: "own" },
        options,
      ).peers.get("peer0")?.checked.lanes;
    assert.deepEqual(lanes({}), [["192.0.2.1:10000"], ["192.0.2.1:10001"], ["192.0.2.1:10002"]]);
    assert.deepEqual(lanes({ lanes: [["192.0.2.9:7"]] }), [["192.0.2.1:10000"], ["192.0.2.9:7"]]);
    assert.deepEqual(lanes({ lanes: [] }), [["192.0.2.1:10000"]]);
    assert.deepEqual(lanes({ lanes: [["192.0.2.9:7"], [], []] }, 2)?.length, 2);
    assert.deepEqual(lanes({ endpoints: ["192.0.2.1:65535"] }), [["192.0.2.1:65535"], [], []]);
  });

  it("leave out a peer that says what cannot be", () => {
    const state = testState(1, (each) => ({ ...each, link: { ...each.link, lanes: [["nowhere"]] } }));
    assert.match(fabricOf({ ...state, parallel: 2 }, options).faults.get("peer0") ?? "", /"nowhere" is not HOST:PORT/);
  });

  it("give connections to exports a port that tells the lane, where other nodes have others", () => {
    const exported = {
      ...testState(1),
      exports: [
        {
          address: "252.0.0.7",
          masquerade: false,
          ports: [{ protocol: "TCP" as const, port: 80, backends: [{ address: "10.42.0.9", port: 8080 }] }],
        },
      ],
    };
    const keep = (carried?: number[]) =>
      fabricOf({ ...exported, parallel: 2, ...(carried && { carried }) }, options).table.chains.get("keep")?.rules ??
      [];
    assert.ok(
      keep([1]).some((rule) => rule.startsWith('iifname "fjord1" ct status dnat') && rule.endsWith(":61952-62463")),
    );
    assert.ok(!keep().some((rule) => rule.includes("61952")));
  });
});
