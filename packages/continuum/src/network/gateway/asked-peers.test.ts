import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testState } from "../fabric/test-state.ts";
import type { PeerNetwork } from "../network-state.ts";
import { askedPeers, oftenAsked } from "./asked-peers.ts";
import type { LinkReport } from "./link-report.ts";

/** As `changes` say of each peer; else it shares nothing. */
const stateWith = (...changes: Partial<PeerNetwork>[]) =>
  testState(changes.length, (peer) => ({ ...peer, groups: [], ...changes[Number(peer.siteId.slice(4))] }));
const report = (siteId: string, more: Partial<LinkReport> = {}): LinkReport => {
  return { siteId, receivedBytes: 0, sentBytes: 0, ...more };
};
const lane = (number: number) => ({ lane: number, receivedBytes: 0, sentBytes: 0 });
const { link } = testState(1).peers[0] as PeerNetwork;

describe("Peers that are asked often", () => {
  it("share something with this site", () => {
    const [local, remote] = [["10.42.0.1"], ["240.0.0.1"]];
    const state = stateWith(
      { groups: [{ name: "shop", local, remote }] },
      { groups: [{ name: "shop", local, remote: [] }] },
      { groups: [{ name: "shop", local: [], remote }] },
      {},
    );
    assert.deepEqual([...oftenAsked(state, false)], ["peer0"]);
  });

  it("are hubs, also those for another way, and who is led through here", () => {
    const state = stateWith(
      {},
      { link: { ...link, via: "peer0" } },
      {},
      { link: { ...link, fallback: { via: "peer2", endpoint: "192.0.2.1:1" } } },
      { relayTo: ["peer1"] },
    );
    assert.deepEqual([...oftenAsked(state, false)], ["peer0", "peer2", "peer4"]);
  });

  it("have several lanes, and are all while the own key is about to change", () => {
    const state = { ...stateWith({ link: { ...link, lanes: [] } }, {}), parallel: 2 };
    assert.deepEqual([...oftenAsked(state, false)], ["peer1"]);
    assert.deepEqual([...oftenAsked(state, true)], ["peer0", "peer1"]);
  });
});

describe("Whom a lane's probe asks", () => {
  it("is everybody without a fault on the first lane, and on others who has them", () => {
    const state = { ...stateWith({}, {}, {}), parallel: 2 };
    const reports = [
      report("peer0", { fault: "none" }),
      report("peer1", { lanes: [lane(0), lane(1)] }),
      report("peer2", { lanes: [lane(0)] }),
    ];
    assert.deepEqual(askedPeers(0, reports, state, false).peers, ["peer1", "peer2"]);
    assert.deepEqual(askedPeers(1, reports, state, false).peers, ["peer1"]);
  });

  it("is asked at the probe's own pace where there is one lane, and else so that a silent one is found out", () => {
    const state = stateWith({});
    assert.equal(askedPeers(0, [report("peer0")], state, false).oftenMs, undefined);
    assert.equal(askedPeers(0, [report("peer0")], state, true).oftenMs, 500);
    assert.equal(askedPeers(0, [report("peer0")], { ...state, parallel: 2 }, false).oftenMs, 500);
  });

  it("is asked often on other lanes only for these lanes, not for what is shared", () => {
    const groups = [{ name: "shop", local: ["10.42.0.1"], remote: ["240.0.0.1"] }];
    const state = { ...stateWith({ groups, link: { ...link, lanes: [] } }, {}), parallel: 2 };
    assert.deepEqual([...askedPeers(0, [], state, false).often], ["peer0", "peer1"]);
    assert.deepEqual([...askedPeers(1, [], state, false).often], ["peer1"]);
  });
});
