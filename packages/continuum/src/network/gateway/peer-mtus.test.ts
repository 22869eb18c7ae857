import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testPeer } from "../fabric/test-state.ts";
import { PeerMtus } from "./peer-mtus.ts";

describe("Packets to a peer", () => {
  const peer = testPeer(0);

  it("are as large as the interface takes where nothing is known", () => {
    assert.equal(new PeerMtus().measured(peer, undefined, 1380), peer);
    assert.equal(new PeerMtus().measured(peer, 1380, 1380), peer);
  });

  it("are no larger than was seen to get there", () => {
    assert.deepEqual(new PeerMtus().measured(peer, 1300, 1380), { ...peer, mtu: 1300 });
  });

  it("are as small as before until something is seen, and as large again when it gets there", () => {
    const known = { ...peer, mtu: 1300 };
    assert.equal(new PeerMtus().measured(known, undefined, 1380), known);
    assert.deepEqual(new PeerMtus().measured(known, 1380, 1380), peer);
  });

  it("are as small as the node can send in one piece, by sixteens and not below what everybody sends", () => {
    const mtus = new PeerMtus();
    mtus.note(peer.siteId, 1300);
    assert.equal(mtus.capped(peer.siteId, 1380, 1380), 1296);
    assert.equal(mtus.capped(peer.siteId, 1200, 1380), 1200);
    assert.equal(mtus.capped("another", 1380, 1380), 1380);
    mtus.note(peer.siteId, undefined);
    assert.equal(mtus.capped(peer.siteId, 1380, 1380), 1296, "what was known holds");
    mtus.note(peer.siteId, 100);
    assert.equal(mtus.capped(peer.siteId, 1380, 1380), 576);
    mtus.note(peer.siteId, 1500);
    assert.equal(mtus.capped(peer.siteId, 1380, 1380), 1380);
  });

  it("are said by the same object as long as nothing changes, so that nobody compares it", () => {
    const mtus = new PeerMtus();
    const first = mtus.measured(peer, 1300, 1380);
    assert.equal(mtus.measured(peer, 1300, 1380), first);
    assert.notEqual(mtus.measured(peer, 1296, 1380), first);
  });
});
