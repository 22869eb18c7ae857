import { silentLogger, systemClock } from "@fjord/base";
import { type NetworkNamespaces, namespaceUdp, POD_RANGES } from "@fjord/testbed/namespaces";
import { wireguardProgram } from "@fjord/testbed/testing";
import { PROBE_PORT } from "../link-address.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { Gateway, type GatewayOptions } from "./gateway.ts";
import type { OpenProbeSocket } from "./link-probe.ts";
import { NodeNetwork } from "./node-network.ts";

/** Where gateways of tests listen. */
export const PORT = 51_820;
/** What both of a pair of sites with the same addresses call the other's pods. */
export const NAMES = ["240.0.0.0/16", "fd66:6a6f::/64"] as const;

/** A pod's address as the other of a pair calls it. */
export function called(address: string): string {
  return address.replace("10.42.", "240.0.").replace("fd42::", "fd66:6a6f::");
}

/** The ranges of a site's pods, of both families, by what they are called. */
export function namings(names: readonly string[] = []): PeerNetwork["own"] {
  return POD_RANGES.map((range, at) => ({ range, called: names[at] ?? "" }));
}

export function stateOf(siteId: string, peers: readonly PeerNetwork[]): NetworkState {
  return { siteId, listenPort: PORT, mtu: 1380, ranges: POD_RANGES, peers };
}

export interface OtherOfPair {
  readonly siteId: string;
  readonly publicKey: string;
  /** Of its gateway. */
  readonly address: string | undefined;
}

/** One of a pair of sites that share all of their pods. */
export function pairState(siteId: string, { siteId: other, publicKey, address }: OtherOfPair): NetworkState {
  return stateOf(siteId, [
    {
      siteId: other,
      own: namings(NAMES),
      peer: namings(NAMES),
      link: { publicKey, endpoints: [`${address}:${PORT}`] },
      groups: [{ name: "shop", local: [...POD_RANGES], remote: [...NAMES] }],
    },
  ]);
}

/** The network of the node that carries a site's links. */
export function networkOf(namespaces: NetworkNamespaces, site: string): NodeNetwork {
  return new NodeNetwork({ prefix: namespaces.prefix(`${site}-gw`), wireguardProgram: wireguardProgram() });
}

export function gatewayOf(
  namespaces: NetworkNamespaces,
  site: string,
  options: Partial<GatewayOptions> & Pick<GatewayOptions, "interfacePrefix">,
): Gateway {
  return new Gateway({ network: networkOf(namespaces, site), clock: systemClock, logger: silentLogger, ...options });
}

/** Sockets on the node that carries a site's links, for its probes. */
export function openProbeAt(namespaces: NetworkNamespaces, site: string): OpenProbeSocket {
  return (address, heard) => namespaceUdp(namespaces, `${site}-gw`, { address, port: PROBE_PORT }, heard);
}
