import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { Registry } from "@fjord/kube";
import { heapUsed } from "@fjord/kube/testing";
import { fabricOf } from "../fabric/fabric.ts";
import { testState } from "../fabric/test-state.ts";
import type { NetworkState } from "../network-state.ts";
import { GatewayMetrics } from "./gateway-metrics.ts";
import { writeKeyWord } from "./key-words.ts";
import { LaneLives } from "./lane-lives.ts";
import { LanePeers } from "./lane-peers.ts";
import { OwnKey } from "./own-key.ts";
import { PeerKeys } from "./peer-keys.ts";
import { PeerPaths } from "./peer-paths.ts";

/** So many come and go, or are named: what is kept of each would be megabytes. */
const MANY = 40_000;
const key = () => randomBytes(32).toString("base64");

function assertSmall(what: string, work: () => unknown): void {
  const before = heapUsed();
  const kept = work();
  const grown = heapUsed() - before;
  assert.ok(kept !== undefined && grown < 3_000_000, `${what}: ${grown} bytes`);
}

describe("a gateway whose peers name other keys, and which come and go, without end", () => {
  const clock = new ManualClock();

  it("remembers some of the keys that one has left", () => {
    assertSmall("keys", () => {
      const keys = new PeerKeys({ current: key() });
      for (let i = 1; i <= MANY; i++) {
        const current = key();
        keys.bring({ current }, i);
        keys.look(i, (each) => (each === current ? i : 0));
      }
      return keys;
    });
  });

  it("greets nobody whom it no longer has as a peer", () => {
    const publicKey = key();
    const state = testState(1, (peer) => ({ ...peer, link: { ...peer.link, publicKey } }));
    const fabric = fabricOf(state, { interfacePrefix: "test" });
    const peers = new LanePeers({ lane: 0, clock, newPaths: () => new PeerPaths({ clock, logger: silentLogger }) });
    peers.greet("gone");
    peers.bring(fabric);
    const [known = ""] = peers.wanted(fabric.peers, fabric).keys();
    peers.greet(known);
    peers.bring(fabric);
    assert.deepEqual([peers.heard("gone"), peers.heard(known)], [false, true]);
  });

  it("remembers nothing of how lanes of others were", () => {
    assertSmall("lanes", () => {
      const lives = new LaneLives(clock, () => undefined);
      const state = (siteId: string): NetworkState => ({
        ...testState(1, (peer) => ({ ...peer, siteId })),
        parallel: 2,
      });
      for (let i = 0; i < MANY; i++) {
        const now = state(`site${i}`);
        lives.withSilent(now.peers, now);
        for (const peer of now.peers) lives.silentLanes(peer, now);
      }
      return lives;
    });
  });

  it("tells no metrics of others", async () => {
    const registry = new Registry();
    const metrics = new GatewayMetrics({ registry, now: () => 0 });
    for (const siteId of ["one", "other"])
      for (const receivedBytes of [1, 2]) {
        metrics.answered(siteId, 1);
        metrics.linked([{ siteId, receivedBytes, sentBytes: 0 }]);
      }
    const text = await registry.metrics();
    assert.match(text, /fjord_link_received_bytes_total\{site="other"\} 1/);
    assert.match(text, /fjord_link_latency_seconds_count\{site="other"\} 2/);
    assert.doesNotMatch(text, /site="one"/);
  });

  it("waits now and then for one that takes another key, however many there are that do", async () => {
    let turned = 0;
    const ownKey = new OwnKey({
      clock,
      logger: silentLogger,
      gateway: {
        usedKey: async () => undefined,
        turnKey: async () => {},
        peerAsks: async () => true,
        peerTurns: async () => void turned++,
      },
    });
    let say = (_siteId: string, _word: Buffer) => {};
    ownKey.attach(0, { say: () => {}, onSaid: (listener) => (say = listener), answeredAt: () => undefined });
    for (let second = 0; second < 100; second++) {
      for (let i = 0; i < 128; i++)
        say(`made-up-${i}`, writeKeyWord({ says: "take", key: randomBytes(32).toString("hex") }));
      await clock.advance(1_000);
    }
    assert.ok(turned > 16 && turned < 80, `${turned} times`);
  });
});
