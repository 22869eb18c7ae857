import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testState } from "../fabric/test-state.ts";
import type { PeerLink } from "../network-state.ts";
import { isShared, laneCountOf, lanedPeers, lanesOf } from "./carried-lanes.ts";

const link: PeerLink = { publicKey: "", endpoints: [] };

describe("Lanes that a node carries", () => {
  it("are one where nothing is said, all of the site's where nothing is said of nodes, and else what is said", () => {
    assert.deepEqual(lanesOf(testState(0)), [0]);
    assert.deepEqual(lanesOf({ ...testState(0), parallel: 3 }), [0, 1, 2]);
    assert.deepEqual(lanesOf({ ...testState(0), parallel: 3, carried: [2] }), [2]);
    assert.deepEqual(lanesOf({ ...testState(0), parallel: 3, carried: [] }), []);
  });

  it("are shared where other nodes have some", () => {
    assert.equal(isShared(testState(0)), false);
    assert.equal(isShared({ ...testState(0), parallel: 2 }), false);
    assert.equal(isShared({ ...testState(0), parallel: 2, carried: [1, 0] }), false);
    assert.equal(isShared({ ...testState(0), parallel: 2, carried: [1] }), true);
  });

  it("lead to a peer as many as that one says, and all where it says nothing", () => {
    const state = { ...testState(0), parallel: 4 };
    assert.equal(laneCountOf(link, testState(0)), 1);
    assert.equal(laneCountOf(link, state), 4);
    assert.equal(laneCountOf({ ...link, lanes: [] }, state), 1);
    assert.equal(laneCountOf({ ...link, lanes: [["192.0.2.1:1"]] }, state), 2);
  });

  it("are several to peers that have more than one and are not behind a hub", () => {
    const links = [{}, { lanes: [] }, { lanes: [[]] }, { via: "peer0" }];
    const state = testState(links.length, (peer) => {
      return { ...peer, link: { ...peer.link, ...links[Number(peer.siteId.slice(4))] } };
    });
    assert.deepEqual([...lanedPeers(state)], []);
    assert.deepEqual([...lanedPeers({ ...state, parallel: 2 })], ["peer0", "peer2"]);
  });
});
