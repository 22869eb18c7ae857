import type { NetworkState, PeerNetwork } from "../network-state.ts";

/** The state of a site with 10.42.0.0/16 and so many peers with the same, each called otherwise and with groups of ten by ten pods. */
export function testState(peers: number, change: (peer: PeerNetwork) => PeerNetwork = (peer) => peer): NetworkState {
  return {
    listenPort: 51_820,
    mtu: 1380,
    ranges: ["10.42.0.0/16"],
    peers: Array.from({ length: peers }, (_, i) => change(testPeer(i))),
  };
}

export function testPeer(index: number): PeerNetwork {
  const name = `${240 + (index >> 8)}.${index & 255}`;
  const ten = (prefix: string) => Array.from({ length: 10 }, (_, i) => `${prefix}.1.${i}`);
  return {
    siteId: `peer${index}`,
    own: [{ range: "10.42.0.0/16", called: `${name}.0.0/16` }],
    peer: [{ range: "10.42.0.0/16", called: `${name}.0.0/16` }],
    link: { publicKey: testKey(index), endpoints: [`192.0.2.1:${10_000 + index}`] },
    groups: [{ name: "shop", local: ten("10.42"), remote: ten(name) }],
  };
}

/** A public key that nobody has the private one of. */
export function testKey(index: number): string {
  const bytes = Buffer.alloc(32, 7);
  bytes.writeUInt32BE(index);
  return bytes.toString("base64");
}
