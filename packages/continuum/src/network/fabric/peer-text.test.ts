import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sameState } from "./peer-text.ts";
import { testPeer, testState } from "./test-state.ts";

describe("two states", () => {
  it("are the same where they ask for the same, be it by the same objects or by others", () => {
    const state = testState(3);
    assert.equal(sameState(state, { ...state, peers: [...state.peers] }), true);
    assert.equal(sameState(state, testState(3)), true);
  });

  it("differ where a peer, its place or anything of the site does", () => {
    const state = testState(3);
    const [first = testPeer(0), second = testPeer(1), third = testPeer(2)] = state.peers;
    for (const other of [
      { ...state, mtu: 1300 },
      { ...state, peers: [first, second] },
      { ...state, peers: [second, first, third] },
      { ...state, peers: [first, second, { ...third, mtu: 1300 }] },
      testState(4),
    ])
      assert.equal(sameState(state, other), false);
  });
});
