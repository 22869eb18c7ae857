import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { type Fabric, fabricOf } from "../fabric/fabric.ts";
import { testState } from "../fabric/test-state.ts";
import type { WireguardPeerState, WireguardState } from "../fabric/wireguard-change.ts";
import type { PeerLink } from "../network-state.ts";
import { LanePeers } from "./lane-peers.ts";
import { PeerPaths } from "./peer-paths.ts";

describe("Peers of a lane", () => {
  let clock: ManualClock;
  let peers: LanePeers;
  const fabricWith = (link: Partial<PeerLink> = {}): Fabric =>
    fabricOf(
      testState(1, (peer) => ({ ...peer, link: { ...peer.link, ...link } })),
      { interfacePrefix: "test" },
    );
  const keyOf = (fabric: Fabric) => fabric.peers.get("peer0")?.checked.publicKey ?? "";
  /** What WireGuard says of the peer, whose handshake was so long ago. */
  const stateOf = (fabric: Fabric, agoMs: number, more: Partial<WireguardPeerState> = {}): WireguardState => {
    const handshakeSeconds = Math.floor((clock.now() - agoMs) / 1000);
    const counts = { receivedBytes: 0, sentBytes: 0, handshakeSeconds };
    const peer = { publicKey: keyOf(fabric), ranges: [], keepaliveSeconds: 0, ...counts, ...more };
    return { privateKey: "", listenPort: 1, peers: new Map([[peer.publicKey, peer]]) };
  };

  beforeEach(() => {
    clock = new ManualClock();
    peers = new LanePeers({ lane: 0, clock, newPaths: () => new PeerPaths({ clock, logger: silentLogger }) });
  });

  it("are wanted where they are heard of, and where they are said to be once they are silent", () => {
    const fabric = fabricWith();
    peers.bring(fabric);
    const where = (agoMs: number) =>
      peers.wantedWhereHeard(fabric, stateOf(fabric, agoMs, { endpoint: "198.51.100.7:1" })).get(keyOf(fabric))
        ?.endpoint;
    assert.equal(where(60_000), "198.51.100.7:1");
    assert.notEqual(where(160_000), "198.51.100.7:1");
  });

  it("are looked at without a change where all is well, and not where WireGuard does not know them", () => {
    const fabric = fabricWith();
    const state = stateOf(fabric, 1_000);
    peers.bring(fabric, state);
    peers.look(fabric, state, () => "often");
    const { changed, gone, sights } = peers.look(fabric, state, () => "often");
    assert.deepEqual([changed.size, gone, sights.map(({ checked }) => checked.siteId)], [0, [], ["peer0"]]);
    assert.deepEqual(peers.look(fabric, { ...state, peers: new Map() }, () => "often").sights, []);
  });

  it("are greeted until they are heard of, and stay where they were heard of then", () => {
    const fabric = fabricWith();
    peers.bring(fabric);
    peers.greet(keyOf(fabric));
    const greeting = () => peers.wanted(fabric.peers, fabric).get(keyOf(fabric))?.keepaliveSeconds;
    assert.equal(greeting(), 5);
    const silent = stateOf(fabric, 0, { handshakeSeconds: 0 });
    peers.look(fabric, silent, () => undefined);
    assert.equal(greeting(), 5);
    const heard = stateOf(fabric, 0, { endpoint: "198.51.100.7:1" });
    const { changed } = peers.look(fabric, heard, () => undefined);
    const { endpoint, keepaliveSeconds } = changed.get(keyOf(fabric)) ?? {};
    assert.deepEqual([endpoint, keepaliveSeconds, greeting()], ["198.51.100.7:1", 0, 0]);
  });
});
