import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWireguardState, type WireguardPeer, wireguardChange } from "./wireguard-change.ts";

const peers = (...all: WireguardPeer[]) => new Map(all.map((peer) => [peer.publicKey, peer]));
const one: WireguardPeer = {
  publicKey: "aa",
  endpoint: "192.0.2.1:51820",
  keepaliveSeconds: 0,
  ranges: ["240.0.0.0/16", "fd66::1"],
};

describe("A change of WireGuard's peers", () => {
  it("is nothing where all is there, in whatever order", () => {
    assert.deepEqual(wireguardChange(peers(one), peers({ ...one, ranges: ["fd66::1", "240.0.0.0/16"] })), []);
  });

  it("adds a peer with everything", () => {
    assert.deepEqual(wireguardChange(peers(), peers({ ...one, keepaliveSeconds: 25 })), [
      "public_key=aa",
      "endpoint=192.0.2.1:51820",
      "persistent_keepalive_interval=25",
      "replace_allowed_ips=true",
      "allowed_ip=240.0.0.0/16",
      "allowed_ip=fd66::1/128",
    ]);
  });

  it("names only what has changed", () => {
    assert.deepEqual(wireguardChange(peers(one), peers({ ...one, endpoint: "192.0.2.9:1" })), [
      "public_key=aa",
      "endpoint=192.0.2.9:1",
    ]);
    assert.deepEqual(wireguardChange(peers(one), peers({ ...one, ranges: [] })), [
      "public_key=aa",
      "replace_allowed_ips=true",
    ]);
  });

  it("leaves an endpoint alone that is not asked for", () => {
    const { endpoint: _, ...dialling } = one;
    assert.deepEqual(wireguardChange(peers(one), peers(dialling)), []);
  });

  it("removes a peer before its ranges are another's", () => {
    assert.deepEqual(wireguardChange(peers(one), peers({ ...one, publicKey: "bb" })).slice(0, 3), [
      "public_key=aa",
      "remove=true",
      "public_key=bb",
    ]);
  });

  it("is made from what WireGuard says of itself", () => {
    const {
      privateKey,
      listenPort,
      peers: seen,
    } = parseWireguardState(
      [
        "private_key=11",
        "listen_port=51820",
        "public_key=aa",
        "preshared_key=00",
        "protocol_version=1",
        "endpoint=192.0.2.1:51820",
        "last_handshake_time_sec=1700000000",
        "last_handshake_time_nsec=5",
        "tx_bytes=7",
        "rx_bytes=9",
        "persistent_keepalive_interval=0",
        "allowed_ip=240.0.0.0/16",
        "allowed_ip=fd66::1/128",
        "public_key=bb",
        "errno=0",
        "",
      ].join("\n"),
    );
    assert.deepEqual([privateKey, listenPort, seen.size], ["11", 51_820, 2]);
    assert.deepEqual(seen.get("aa"), { ...one, handshakeSeconds: 1_700_000_000, receivedBytes: 9, sentBytes: 7 });
    assert.deepEqual(wireguardChange(seen, peers(one)), ["public_key=bb", "remove=true"]);
  });
});
