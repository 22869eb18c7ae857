import type { Link, StatusOf } from "@fjord/api";
import { setCondition } from "@fjord/kube";
import type { Way } from "./gateway/path-choice.ts";

/** What a gateway sees of a link. */
export interface SeenLink {
  /** Why the link is not there at all. */
  readonly fault?: string;
  /** Milliseconds since the epoch. */
  readonly handshakeAt?: number;
  readonly endpoint?: string;
  /** The own public key that is in use. */
  readonly ownKey?: string;
  readonly carrier?: NonNullable<StatusOf<typeof Link>["carrier"]>;
  /** How the peer is heard of. */
  readonly way?: Way;
  /** The hub that the peer is heard of through. */
  readonly via?: string;
  /** From where the gateway sends to the own agent. */
  readonly tcpSource?: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** By probes; absent where the peer has answered none. */
  readonly latencyMs?: number;
  readonly lossPercent?: number;
  readonly mtu?: number;
}

const WAYS = { direct: "Direct", hub: "Hub", tcp: "TCP" } as const;

/** WireGuard makes a new key every two minutes while there is traffic, and takes the old one for dead after three. */
const KEY_LASTS_MS = 180_000;

/** Whether the two have agreed on a key lately. */
export function isAlive(handshakeAt: number | undefined, now: number): boolean {
  return handshakeAt !== undefined && now - handshakeAt < KEY_LASTS_MS;
}

/** The status that says so. */
export function linkStatus(link: Link, seen: SeenLink, now: number): StatusOf<typeof Link> {
  const { fault, handshakeAt, endpoint, ownKey, carrier, way, via, tcpSource } = seen;
  const { receivedBytes, sentBytes, latencyMs, lossPercent, mtu } = seen;
  const reason = fault !== undefined ? "NotApplied" : isAlive(handshakeAt, now) ? "HandshakeSeen" : "NoHandshake";
  const { generation } = link.metadata;
  const { conditions } = setCondition(
    link.status?.conditions,
    {
      type: "Ready",
      status: reason === "HandshakeSeen" ? "True" : "False",
      reason,
      message: fault ?? "",
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
  return {
    ...(carrier !== undefined && { carrier }),
    ...(way !== undefined && { way: WAYS[way] }),
    ...(via !== undefined && { via }),
    ...(endpoint !== undefined && { endpoint }),
    ...(tcpSource !== undefined && { tcpSource }),
    ...(ownKey !== undefined && { ownKey }),
    ...(handshakeAt !== undefined && { handshakeAt: new Date(handshakeAt).toISOString() }),
    receivedBytes,
    sentBytes,
    ...(latencyMs !== undefined && { latencyMicroseconds: Math.round(latencyMs * 1_000) }),
    ...(lossPercent !== undefined && { lossPercent }),
    ...(mtu !== undefined && { mtu }),
    conditions,
  };
}
