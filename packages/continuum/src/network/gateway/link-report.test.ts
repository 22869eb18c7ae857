import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fabricOf } from "../fabric/fabric.ts";
import { testState } from "../fabric/test-state.ts";
import { relayAddress } from "../link-address.ts";
import { withLane, withPath, withRoute } from "./link-report.ts";

const seen = { publicKey: "key", ranges: [], keepaliveSeconds: 0 };
const first = withLane(undefined, "b", 0, {
  ...seen,
  handshakeSeconds: 100,
  endpoint: "192.0.2.2:51820",
  receivedBytes: 5,
  sentBytes: 7,
});

describe("A report of a link", () => {
  it("has the largest packet of the node's routes where that is smaller, as through a hub", () => {
    const endpoint = `${relayAddress("peer1")}:1`;
    const state = testState(2, (peer) =>
      peer.siteId === "peer1" ? { ...peer, link: { ...peer.link, via: "peer0", endpoints: [endpoint] } } : peer,
    );
    const fabric = fabricOf({ ...state, siteId: "own" }, { interfacePrefix: "test" });
    assert.deepEqual([...fabric.faults], []);
    const of = (siteId: string) => withRoute({ siteId, receivedBytes: 0, sentBytes: 0 }, fabric).routeMtu;
    assert.deepEqual([of("peer0"), of("peer1"), of("nobody")], [undefined, 1312, undefined]);
  });

  it("has of its lanes what came by all, the last handshake, and where the first is", () => {
    const counts = { receivedBytes: 1, sentBytes: 2 };
    const both = withLane(first, "b", 1, { ...seen, ...counts, handshakeSeconds: 90, endpoint: "192.0.2.2:51821" });
    const { lanes, ...whole } = both;
    assert.deepEqual(whole, {
      siteId: "b",
      handshakeAt: 100_000,
      endpoint: "192.0.2.2:51820",
      receivedBytes: 6,
      sentBytes: 9,
    });
    assert.deepEqual(
      lanes?.map(({ lane, handshakeAt }) => [lane, handshakeAt]),
      [
        [0, 100_000],
        [1, 90_000],
      ],
    );
  });

  it("says by the first lane where a peer is met, and by the narrowest how large packets may be", () => {
    const isTurning = false;
    const one = withPath(
      first,
      { way: "direct", endpoint: "192.0.2.9:1", pathMtu: 1400 },
      { isFirst: true, isTurning },
    );
    assert.deepEqual([one.way, one.endpoint, one.pathMtu], ["direct", "192.0.2.9:1", 1400]);
    const two = withPath(one, { way: "hub", endpoint: "192.0.2.8:1", pathMtu: 1300 }, { isFirst: false, isTurning });
    assert.deepEqual([two.way, two.endpoint, two.pathMtu], ["direct", "192.0.2.9:1", 1300]);
    assert.equal(withPath(two, { pathMtu: 1400 }, { isFirst: false, isTurning }).pathMtu, 1300);
    assert.equal(withPath(two, {}, { isFirst: false, isTurning }).pathMtu, 1300);
    assert.equal("pathMtu" in withPath(first, {}, { isFirst: true, isTurning }), false);
  });

  it("says that a key is about to change where it is on any lane", () => {
    const turning = withPath(first, {}, { isFirst: true, isTurning: true });
    assert.equal(withPath(turning, {}, { isFirst: false, isTurning: false }).isTurning, true);
    assert.equal("isTurning" in withPath(first, {}, { isFirst: true, isTurning: false }), false);
  });
});
