import type { CheckedPeer } from "../fabric/checked-peer.ts";
import type { WireguardPeerState } from "../fabric/wireguard-change.ts";
import type { LinkReport } from "./link-report.ts";
import type { PathLook } from "./peer-paths.ts";
import type { Underlay } from "./underlay.ts";

/** What a look at a peer's path says of its link. */
export async function pathReport(
  underlay: Underlay,
  { via: hub, fallback, tcp }: CheckedPeer,
  { handshakeSeconds }: WireguardPeerState,
  look: Omit<PathLook, "isMoved">,
): Promise<Partial<LinkReport>> {
  const way = hub === undefined ? look.way : "hub";
  const via = way === "hub" ? (hub ?? fallback?.via) : undefined;
  const { endpoint, isInvited, isTrying } = look;
  // What a hub leads to is as large as what gets to the hub.
  const isMet = way !== "hub" && handshakeSeconds > 0 && endpoint !== undefined;
  const pathMtu = isMet ? await underlay.largestTo(endpoint) : undefined;
  const tcpSource = tcp === undefined ? undefined : await underlay.sourceTo(tcp);
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(handshakeSeconds > 0 && { way }),
    ...(handshakeSeconds > 0 && via !== undefined && { via }),
    ...(pathMtu !== undefined && { pathMtu }),
    ...(tcpSource !== undefined && { tcpSource }),
    isInvited,
    isTrying,
  };
}
