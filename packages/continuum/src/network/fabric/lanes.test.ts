import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRange } from "../ip-range.ts";
import { fabricOf } from "./fabric.ts";
import { firewallChange, wholeFirewall } from "./firewall-change.ts";
import { exportPorts, type LanedPeer, laneMark, laneParts, laneRules, laneTargets, wayLaneChains } from "./lanes.ts";
import { testState } from "./test-state.ts";

const options = { interfacePrefix: "fjord" };
const peer: LanedPeer = { siteId: "m", ranges: [parseRange("240.0.0.0/16") as never], lanes: 3, silent: [] };
const rulesOf = (name: string, change: Partial<LanedPeer>, own: string) =>
  laneRules({ ...peer, ...change }, own).chains.get(name) ?? [];
/** Without its first rule, which is about answers of exports. */
const chain = (change: Partial<LanedPeer> = {}, own = "a") => rulesOf("lane-m", change, own).slice(1);
const led = (change: Partial<LanedPeer> = {}, own = "a") => rulesOf("led-m", change, own);

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
    assert.match(chain({}, "a").at(-1) ?? "", /jhash th sport \. th dport mod 3 seed 0x666a vmap/);
    assert.match(chain({}, "z").at(-1) ?? "", /jhash th dport \. th sport mod 3 seed 0x666a vmap/);
  });

  it("is the first one for what has no ports, or the first that is not silent", () => {
    assert.doesNotMatch(chain().at(-1) ?? "", /^goto/);
    assert.equal(chain({ silent: [0, 1] }).at(-1), "goto lane2");
  });

  it("is told by a port of exports first, whichever end has it", () => {
    const [first, second] = chain({}, "a");
    assert.match(first ?? "", /th sport vmap { 61440-61951 : goto lane0, 61952-62463 : goto lane1,/);
    assert.match(second ?? "", /th dport vmap { 61440-61951 /);
    assert.match(chain({}, "z")[0] ?? "", /th dport vmap/);
    assert.match(chain({ silent: [1] })[0] ?? "", /61952-62463 : goto lane2/);
    assert.equal(exportPorts(7), "65024-65535");
  });

  it("is the one that it came by for answers of what was led elsewhere, which have another port than the peer knows of", () => {
    assert.equal(rulesOf("lane-m", {}, "a")[0], "ct direction reply ct status dnat goto led-m");
    assert.match(led().at(-1) ?? "", /jhash ct original proto-dst \. ct original proto-src mod 3 seed 0x666a vmap/);
    assert.match(led({}, "z").at(-1) ?? "", /jhash ct original proto-src \. ct original proto-dst mod 3/);
    assert.match(led({ silent: [1] }).at(-1) ?? "", /vmap { 0 : goto lane0, 1 : goto lane2, 2 : goto lane2 }/);
    assert.match(led()[0] ?? "", /ct original proto-dst vmap { 61440-61951 : goto lane0,/);
  });

  it("is no question where a peer has one", () => {
    assert.equal(laneRules({ ...peer, lanes: 1 }, "a").chains.size, 0);
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

  it("is chosen of what the node itself sends, too, where other nodes carry some", () => {
    assert.ok(!laneParts(2, { 4: [16], 6: [] }).chains.has("choose-own"));
    const { chains } = laneParts(2, { 4: [16], 6: [] }, true);
    assert.match(chains.get("choose-own")?.hook ?? "", /^type route hook output /);
    assert.deepEqual(chains.get("choose-own")?.rules, chains.get("choose")?.rules);
    assert.deepEqual(chains.get("give-back-own")?.rules, chains.get("give-back")?.rules);
  });

  it("is chosen on a node that carries none by the same rules, with what it looks into in them", () => {
    const ranges = ["240.0.0.0/16", "240.1.0.0/16", "fd66:6a6f::/64"].map((text) => parseRange(text) as never);
    const chains = wayLaneChains(
      [
        { ...peer, ranges },
        { ...peer, siteId: "one", lanes: 1 },
      ],
      "a",
    );
    assert.deepEqual(chains.get("lane-m"), rulesOf("lane-m", {}, "a"));
    assert.deepEqual(chains.get("led-m"), rulesOf("led-m", {}, "a"));
    assert.deepEqual(chains.get("choose")?.slice(1), [
      "ip daddr & 255.255.0.0 vmap { 240.0.0.0 : jump lane-m, 240.1.0.0 : jump lane-m }",
      "ip6 daddr & ffff:ffff:ffff:ffff:: vmap { fd66:6a6f:: : jump lane-m }",
    ]);
    assert.match(
      chains.get("give-back")?.[1] ?? "",
      /^meta mark & 0x70 != 0 ip daddr & 255.255.0.0 { 240.0.0.0, 240.1.0.0 } /,
    );
    assert.deepEqual(
      [...chains.keys()].filter((name) => /^lane\d/.test(name)),
      ["lane0", "lane1", "lane2"],
    );
    assert.equal(wayLaneChains([{ ...peer, lanes: 1 }], "a").size, 0);
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
    assert.ok(lines.includes("flush chain inet fjord lane-peer7"));
    assert.ok(lines.every((line) => /(lane|led)-peer7/.test(line)));
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

  it("give connections of machines a port that tells the lane, as answers know no other", () => {
    const keep = (parallel: number) => {
      const { table } = fabricOf({ ...testState(1), parallel, machines: ["192.0.2.0/24", "2001:db8::/64"] }, options);
      return (table.chains.get("keep")?.rules ?? []).filter((rule) => /192.0.2.0|2001:db8/.test(rule));
    };
    assert.deepEqual(
      keep(2).map((rule) => rule.split(" snat ")[1]),
      [
        "ip to 252.0.15.255:61440-61951",
        "ip to 252.0.15.255:61952-62463",
        "ip to 252.0.15.255",
        "ip6 to [fd66:6a71::fff]:61440-61951",
        "ip6 to [fd66:6a71::fff]:61952-62463",
        "ip6 to fd66:6a71::fff",
      ],
    );
    assert.equal(keep(1).length, 2);
  });

  it("leave no chain that another leads to when a peer goes", () => {
    const before = fabricOf({ ...testState(2), parallel: 2 }, options);
    const lines = firewallChange(before, fabricOf({ ...testState(1), parallel: 2 }, options, before)).split("\n");
    const at = (line: string) => lines.indexOf(line);
    assert.ok(at("flush chain inet fjord lane-peer1") >= 0);
    assert.ok(at("flush chain inet fjord lane-peer1") < at("delete chain inet fjord led-peer1"));
  });
});
