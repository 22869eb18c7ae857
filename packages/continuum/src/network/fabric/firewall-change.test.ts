import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PeerNetwork } from "../network-state.ts";
import { fabricOf } from "./fabric.ts";
import { firewallChange, wholeFirewall } from "./firewall-change.ts";
import { testPeer, testState } from "./test-state.ts";

const options = { interfacePrefix: "fjord" };
/** The transaction that makes out of peers that are there others. */
function change(
  peers: number,
  edit: (peers: PeerNetwork[]) => PeerNetwork[],
  made: (index: number) => PeerNetwork = testPeer,
): string {
  const state = { ...testState(0), peers: Array.from({ length: peers }, (_, i) => made(i)) };
  const before = fabricOf(state, options);
  return firewallChange(before, fabricOf({ ...state, peers: edit([...state.peers]) }, options, before));
}
const withGroup = (peer: PeerNetwork, local: string[], remote: string[]): PeerNetwork => ({
  ...peer,
  groups: [{ name: "shop", local, remote }],
});

describe("A change of the firewall", () => {
  it("is nothing where nothing has changed", () => {
    assert.equal(
      change(5, (peers) => structuredClone(peers)),
      "",
    );
  });

  it("is one element for each direction for one more pod", () => {
    const text = change(2, ([first, ...rest]) => {
      const { local = [], remote = [] } = first?.groups[0] ?? {};
      return [withGroup(first as PeerNetwork, [...local, "10.42.9.9"], [...remote]), ...rest];
    });
    assert.equal(
      text,
      "add element inet fjord leaving4 { 10.42.9.9 . 1 : 240.0.9.9 }\nadd element inet fjord arriving4 { 240.0.9.9 . 1 : 10.42.9.9 }\n",
    );
  });

  it("is as long among a thousand peers as among ten", () => {
    const lengths = [10, 1000].map((peers) => {
      const text = change(peers, (all) => [...all, { ...testPeer(2000), groups: testPeer(2000).groups }]);
      return text.replaceAll(/\b\d+\b/g, "N").length;
    });
    assert.equal(lengths[0], lengths[1]);
  });

  it("makes and takes away no chain where no range is opened: nft reads all that there are for each change", () => {
    const texts = [change(1, (all) => [...all, testPeer(1)]), change(2, ([first]) => [first as PeerNetwork])];
    for (const text of texts) assert.doesNotMatch(text, /chain/);
  });

  const open = (index: number): PeerNetwork =>
    withGroup(
      testPeer(index),
      ["10.42.0.0/16"],
      testPeer(index).peer.map(({ called }) => called),
    );

  it("makes chains before what leads to them, and takes them away after it", () => {
    const coming = change(1, (all) => [...all, open(1)]).split("\n");
    assert.ok(
      coming.indexOf("add chain inet fjord in-peer1") < coming.findIndex((line) => line.includes("jump in-peer1")),
    );
    const gone = change(2, ([first]) => [first as PeerNetwork], open).split("\n");
    assert.ok(
      gone.findIndex((line) => line.startsWith("delete element inet fjord in4-16")) <
        gone.indexOf("delete chain inet fjord in-peer1"),
    );
    assert.ok(!gone.join("\n").includes("peer0"));
  });

  it("replaces what has another name", () => {
    const own = [{ range: "10.42.0.0/16", called: "241.7.0.0/16" }];
    const opened = change(1, ([first]) => [{ ...(first as PeerNetwork), own }], open);
    assert.match(opened, /^flush chain inet fjord in-peer0\nadd rule inet fjord in-peer0 ip daddr 241\.7\.0\.0\/16/);
    assert.ok(!opened.includes("element"));
    const text = change(1, ([first]) => [{ ...(first as PeerNetwork), own }]);
    assert.match(text, /delete element inet fjord arriving4 \{ 240\.0\.1\.0 \. 1,/);
    assert.match(text, /add element inet fjord arriving4 \{ 241\.7\.1\.0 \. 1 : 10\.42\.1\.0,/);
  });

  it("gives an address that moves to another group that one's number", () => {
    const text = change(1, ([first]) => [
      { ...(first as PeerNetwork), groups: [{ name: "bank", local: ["10.42.1.0"], remote: ["240.0.1.0"] }] },
    ]);
    assert.match(text, /delete element inet fjord group4 \{ 240\.0\.1\.0, /);
    assert.match(text, /add element inet fjord group4 \{ 240\.0\.1\.0 : 2 \}/);
  });

  it("is the whole table where something in it is of another sort", () => {
    const before = fabricOf(testState(1), options);
    for (const other of [{ ranges: ["10.43.0.0/16"] }, { parallel: 2 }]) {
      const next = fabricOf({ ...testState(1), ...other }, options, before);
      assert.equal(firewallChange(before, next), wholeFirewall(next));
    }
    assert.match(wholeFirewall(before), /^table inet fjord\ndelete table inet fjord\ntable inet fjord \{\n/);
  });

  it("has the rules of packets once, however many peers there are", () => {
    const rules = (peers: number) => {
      const { table } = fabricOf(testState(peers), options);
      return [...table.chains.values()].flatMap((chain) => chain.rules).length;
    };
    assert.equal(rules(1000), rules(1));
  });
});
