import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import { PeerPaths } from "./peer-paths.ts";

const TCP = "10.0.0.1:20000";
const BY_HUB = "248.0.0.7:51820";
const peer: CheckedPeer = {
  siteId: "b",
  own: [],
  ranges: [],
  publicKey: "key",
  endpoints: ["192.0.2.2:51820"],
  lanes: [],
  silent: [],
  keepaliveSeconds: 0,
  groups: [],
  tcp: TCP,
  relayTo: [],
};

test("a peer that is met over TCP is tried through a hub within seconds once one is known to lead there", async () => {
  const clock = new ManualClock();
  const paths = new PeerPaths({ clock, logger: silentLogger });
  let received = 0;
  let endpoint = "192.0.2.2:51820";
  /** The way after so many seconds. Only these endpoints are answered from, and WireGuard sends to where it is told. */
  const wayAfter = async (seconds: number, checked: CheckedPeer, ...answering: string[]) => {
    paths.bring(new Map([["b", checked]]));
    let way = "";
    for (let second = 0; second < seconds; second++) {
      await clock.advance(1_000);
      if (answering.includes(endpoint)) received += 100;
      const counts = { receivedBytes: received, sentBytes: received + 100, handshakeSeconds: 0 };
      const seen = { publicKey: "key", endpoint, ranges: [], keepaliveSeconds: 0, ...counts };
      const found = paths.look(checked, seen, () => true, "often");
      if (found.isMoved) endpoint = paths.endpointOf("key") ?? endpoint;
      way = found.way;
    }
    return way;
  };
  assert.equal(await wayAfter(20, peer, TCP), "tcp");
  const led: CheckedPeer = { ...peer, fallback: { via: "h", endpoint: BY_HUB } };
  assert.equal(await wayAfter(15, led, TCP, BY_HUB), "hub");
});

test("a peer that is sent to by an interface that was made anew is sought elsewhere, though less was sent than by the one before", async () => {
  const clock = new ManualClock();
  const paths = new PeerPaths({ clock, logger: silentLogger });
  const { tcp: _, ...alone } = peer;
  const checked: CheckedPeer = { ...alone, endpoints: ["192.0.2.2:51820", "192.0.2.3:51820"] };
  paths.bring(new Map([["b", checked]]));
  const look = (receivedBytes: number, sentBytes: number) => {
    const seen = { publicKey: "key", endpoint: paths.endpointOf("key") ?? "", ranges: [], keepaliveSeconds: 0 };
    return paths.look(checked, { ...seen, receivedBytes, sentBytes, handshakeSeconds: 0 }, () => true, undefined);
  };
  look(0, 0);
  await clock.advance(1_000);
  look(90_000, 90_000);
  await clock.advance(1_000);
  look(0, 500);
  await clock.advance(20_000);
  look(0, 1_000);
  assert.equal(paths.endpointOf("key"), "192.0.2.3:51820");
});

test("a peer is not looked for where this node, its neighbours or everybody would be, by its own word or by a name's", async () => {
  const { tcp: _, ...alone } = peer;
  const lookup = async (host: string) => (host === "metadata.example" ? "169.254.169.254" : "192.0.2.9");
  const placeOf = async (endpoint: string, more: Partial<CheckedPeer> = {}) => {
    const paths = new PeerPaths({ clock: new ManualClock(), logger: silentLogger, lookup });
    paths.bring(new Map([["b", { ...alone, endpoints: [endpoint], ...more }]]));
    await new Promise((resolve) => setImmediate(resolve));
    return paths.endpointOf("key");
  };
  for (const nowhere of [
    "127.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "metadata.example",
    "224.0.0.1",
    "240.0.0.7",
    "248.0.0.7",
  ])
    assert.equal(await placeOf(`${nowhere}:53`), undefined, nowhere);
  assert.equal(await placeOf("wave.example:53"), "192.0.2.9:53");
  assert.equal(await placeOf(BY_HUB, { via: "h" }), BY_HUB);
});

test("one name of a peer is asked for at a time, however often it names others, and then the one that it names by then", async () => {
  const asked: string[] = [];
  const answers: ((address: string) => void)[] = [];
  const lookup = (host: string) => {
    asked.push(host);
    return new Promise<string>((resolve) => answers.push(resolve));
  };
  const paths = new PeerPaths({ clock: new ManualClock(), logger: silentLogger, lookup });
  const { tcp: _, ...alone } = peer;
  const names = (host: string) => paths.bring(new Map([["b", { ...alone, endpoints: [`${host}:51820`] }]]));
  for (let i = 0; i < 100; i++) names(`silent-${i}.example`);
  paths.bring(new Map([["b", { ...alone, endpoints: ["good.example:51820"] }]]));
  assert.deepEqual(asked, ["silent-0.example"]);
  answers[0]?.("192.0.2.8");
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(asked, ["silent-0.example", "good.example"]);
  assert.equal(paths.endpointOf("key"), undefined);
  answers[1]?.("192.0.2.9");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(paths.endpointOf("key"), "192.0.2.9:51820");
});
