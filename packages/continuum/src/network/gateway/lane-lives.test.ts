import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { steadyNow } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { testState } from "../fabric/test-state.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { LaneLives } from "./lane-lives.ts";

describe("Silent lanes of a link", () => {
  let clock: ManualClock;
  let answers: Map<number, number>;
  let lives: LaneLives;
  const now = () => steadyNow(clock);
  const state = (more: Partial<NetworkState> = {}): NetworkState => ({ ...testState(1), parallel: 2, ...more });
  const peerOf = ({ peers }: NetworkState) => peers[0] as PeerNetwork;
  const silentOf = (of: NetworkState) => lives.withSilent(of.peers, of)[0]?.link.silent;
  const told = (silent: number[], more: Partial<NetworkState> = {}) => {
    const of = state(more);
    return { ...of, peers: of.peers.map((peer) => ({ ...peer, link: { ...peer.link, silent } })) };
  };

  beforeEach(() => {
    clock = new ManualClock();
    answers = new Map();
    lives = new LaneLives(clock, (_, lane) => answers.get(lane));
  });

  it("are those on which nobody answers, of those that are here", () => {
    answers.set(0, now());
    assert.deepEqual(lives.silentLanes(peerOf(state()), state()), [1]);
    assert.deepEqual(silentOf(state()), [1]);
  });

  it("are not said where there is one lane", () => {
    const one = testState(1);
    assert.equal(lives.withSilent(one.peers, one)[0], one.peers[0]);
  });

  it("are taken at once where no other one answers, and else when they are proven", async () => {
    const look = () => lives.silentLanes(peerOf(state()), state());
    for (const lane of [0, 1]) answers.set(lane, now());
    assert.deepEqual(look(), []);
    await clock.advance(2_000);
    assert.deepEqual(look(), [0, 1]);
    answers.set(0, now());
    assert.deepEqual(look(), [1], "there is no other");
    answers.set(1, now());
    assert.deepEqual(look(), [1], "another one is there");
  });

  it("are said of other nodes' lanes by their word, and where it is shared of the own ones once they have been told", () => {
    const carried = [0];
    answers.set(0, now());
    assert.deepEqual(silentOf(told([1], { carried })), [1]);
    assert.equal(silentOf(told([0], { carried })), undefined, "it answers here");
    lives = new LaneLives(clock, () => now() - 5_000);
    assert.equal(silentOf(state({ carried })), undefined, "others do not know it yet");
    assert.deepEqual(silentOf(told([0], { carried })), [0]);
  });

  it("begin anew on a lane that was elsewhere meanwhile", async () => {
    answers.set(0, now());
    assert.deepEqual(lives.silentLanes(peerOf(state()), state()), [1]);
    await clock.advance(2_000);
    answers.set(0, now());
    const shared = state({ carried: [1] });
    lives.forget(1);
    assert.deepEqual(lives.silentLanes(peerOf(shared), shared), [], "it was another node's a moment ago");
  });
});
