import type { Fabric } from "../fabric/fabric.ts";
import type { WireguardPeerState } from "../fabric/wireguard-change.ts";
import type { PeerSigns } from "./link-life.ts";
import type { Way } from "./path-choice.ts";
import type { ProbedLink } from "./probed-peer.ts";
import type { WireguardCarrier } from "./wireguard-devices.ts";

/** What is known of the link to a peer. */
export interface LinkReport {
  readonly siteId: string;
  /** Why the peer is left out; then nothing else is known. */
  readonly fault?: string;
  /** Unix time in milliseconds of the last handshake. */
  readonly handshakeAt?: number;
  readonly endpoint?: string;
  /** The own public key that the interface has. */
  readonly ownKey?: string;
  /** What encrypts. */
  readonly carrier?: WireguardCarrier;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** By which way it is met, or sought where it has fallen silent; absent before it was ever heard of. */
  readonly way?: Way;
  /** The hub that it is heard of through. */
  readonly via?: string;
  /** The address from which this node sends to the own agent, where that carries packets to the peer. */
  readonly tcpSource?: string;
  /** Whether it is to be asked to try the direct way too. */
  readonly isInvited?: boolean;
  /** Whether a better way is tried: then it is to be asked, and looked at, more often. */
  readonly isTrying?: boolean;
  /** Whether the peer is about to use another key: then it is to be looked at more often. */
  readonly isTurning?: boolean;
  /** The largest packet that the node can send to the endpoint in one piece, once it is wrapped; where that is known. */
  readonly pathMtu?: number;
  /** The largest packet that the node's routes let there, where that is less than the interface's: what goes through a hub is wrapped twice. */
  readonly routeMtu?: number;
  /** Of what it consists: each lane that this node carries. */
  readonly lanes?: readonly LaneReport[];
}

/** What is known of one lane of a link. */
export interface LaneReport {
  readonly lane: number;
  readonly handshakeAt?: number;
  readonly endpoint?: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What is known of a link, by WireGuard and by probes. */
export type SeenReport = Omit<LinkReport, "lanes"> &
  ProbedLink & {
    /** Of life; absent where it is not asked. */
    readonly signs?: PeerSigns;
    readonly lanes?: readonly (LaneReport & { readonly silent: boolean })[];
    /** The own key that is to be used next. */
    readonly nextKey?: string;
  };

/** A report with what WireGuard says of one more lane. */
export function withLane(
  before: LinkReport | undefined,
  siteId: string,
  lane: number,
  { handshakeSeconds, endpoint: heardAt, receivedBytes, sentBytes }: WireguardPeerState,
): LinkReport {
  const handshakeAt = Math.max(before?.handshakeAt ?? 0, handshakeSeconds * 1000);
  const endpoint = before?.endpoint ?? heardAt;
  const ofIt = {
    lane,
    ...(handshakeSeconds > 0 && { handshakeAt: handshakeSeconds * 1000 }),
    ...(heardAt !== undefined && { endpoint: heardAt }),
    receivedBytes,
    sentBytes,
  };
  return {
    ...before,
    siteId,
    ...(handshakeAt > 0 && { handshakeAt }),
    ...(endpoint !== undefined && { endpoint }),
    receivedBytes: (before?.receivedBytes ?? 0) + receivedBytes,
    sentBytes: (before?.sentBytes ?? 0) + sentBytes,
    lanes: [...(before?.lanes ?? []), ofIt],
  };
}

/** A report with what the node's routes say of packets to the peer. */
export function withRoute(report: LinkReport, { peers }: Pick<Fabric, "peers">): LinkReport {
  const routeMtu = peers.get(report.siteId)?.mtu;
  return routeMtu === undefined ? report : { ...report, routeMtu };
}

/** A report with what is known of the way of the lane that was added last. */
export function withPath(
  report: LinkReport,
  path: Partial<LinkReport>,
  { isFirst, isTurning }: { readonly isFirst: boolean; readonly isTurning: boolean },
): LinkReport {
  const pathMtus = [report.pathMtu, path.pathMtu].filter((each) => each !== undefined);
  return {
    ...report,
    ...(isFirst && path),
    ...(pathMtus.length > 0 && { pathMtu: Math.min(...pathMtus) }),
    ...(isTurning && { isTurning }),
  };
}
