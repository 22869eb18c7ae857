import type { Link, StatusOf } from "@fjord/api";
import { getCondition, setCondition } from "@fjord/kube";
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
  /** The one that is to be used next. */
  readonly nextKey?: string;
  readonly carrier?: NonNullable<StatusOf<typeof Link>["carrier"]>;
  /** How the peer is heard of. */
  readonly way?: Way;
  /** The hub that the peer is heard of through. */
  readonly via?: string;
  /** From where the gateway sends to the own agent. */
  readonly tcpSource?: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Bytes; absent where nobody has looked for long enough. */
  readonly receivedPerSecond?: number;
  readonly sentPerSecond?: number;
  /** By probes; absent where the peer has answered none. */
  readonly latencyMs?: number;
  readonly lossPercent?: number;
  readonly mtu?: number;
  /** Whether the peer has fallen silent; absent where that is not known. */
  readonly silent?: boolean;
  /** Where there are several: those that are carried here. What the link has is of these together. */
  readonly lanes?: readonly SeenLane[];
}

const WAYS = { direct: "Direct", hub: "Hub", tcp: "TCP" } as const;

export interface SeenLane {
  readonly lane: number;
  readonly handshakeAt?: number;
  readonly endpoint?: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly silent: boolean;
}

export type LaneStatus = NonNullable<StatusOf<typeof Link>["lanes"]>[number];

/** WireGuard makes a new key every two minutes while there is traffic, and takes the old one for dead after three. */
const KEY_LASTS_MS = 180_000;

/** Whether the two have agreed on a key lately. */
export function isAlive(handshakeAt: number | undefined, now: number): boolean {
  return handshakeAt !== undefined && now - handshakeAt < KEY_LASTS_MS;
}

/** What is said of the lanes that a node carries; nothing where a link has but one. */
export function laneStatuses({ lanes = [] }: SeenLink, node?: string): LaneStatus[] {
  return lanes.map(({ lane, handshakeAt, endpoint, receivedBytes, sentBytes, silent }) => ({
    lane,
    ...(node !== undefined && { node }),
    ...(endpoint !== undefined && { endpoint }),
    ...(handshakeAt !== undefined && { handshakeAt: new Date(handshakeAt).toISOString() }),
    receivedBytes,
    sentBytes,
    ...(silent && { silent }),
  }));
}

/** Whether there is anything to say at once: numbers can wait. */
export function isLaneNews(status: LaneStatus, before: LaneStatus | undefined): boolean {
  return (
    before === undefined ||
    (["node", "endpoint", "handshakeAt", "silent"] as const).some((field) => status[field] !== before[field])
  );
}

/** With what others say of lanes that they carry. */
function whole(link: Link, seen: SeenLink): SeenLink {
  const { lanes = [] } = seen;
  const here = new Set(lanes.map(({ lane }) => lane));
  const count = 1 + (link.spec.lanes?.length ?? 0);
  const others = (link.status?.lanes ?? []).filter(({ lane }) => lane < count && !here.has(lane));
  if (lanes.length === 0 || others.length === 0) return seen;
  const sum = (field: "receivedBytes" | "sentBytes") =>
    others.reduce((all, each) => all + (each[field] ?? 0), seen[field]);
  const handshakes = others.flatMap((each) => (each.handshakeAt === undefined ? [] : [Date.parse(each.handshakeAt)]));
  const handshakeAt = Math.max(seen.handshakeAt ?? 0, ...handshakes);
  return {
    ...seen,
    receivedBytes: sum("receivedBytes"),
    sentBytes: sum("sentBytes"),
    ...(handshakeAt > 0 && { handshakeAt }),
  };
}

const SILENT_MESSAGE = "the peer's gateway has answered before, and does not now: endpoints behind it leave Services";

/** Whether a link has fallen silent, by what its gateway has said last. */
export function isSaidSilent(link: Pick<Link, "status"> | undefined): boolean {
  const ready = getCondition(link?.status?.conditions, "Ready");
  return ready?.status === "False" && ready.reason === "Silent";
}

/** What was said of it holds until something is known; a lane that others carry, and that answers, is enough. */
function isSilent(link: Link, { silent, handshakeAt = 0, lanes = [] }: SeenLink): boolean {
  const here = new Set(lanes.map(({ lane }) => lane));
  const answersElsewhere = (link.status?.lanes ?? []).some(({ lane, silent }) => !here.has(lane) && silent !== true);
  if (lanes.length > 0 && answersElsewhere) return false;
  if (silent !== undefined) return silent;
  const since = getCondition(link.status?.conditions, "Ready")?.lastTransitionTime;
  return isSaidSilent(link) && handshakeAt <= Date.parse(since ?? "");
}

/** Whether the peer's gateway is met: what stands for its endpoint else is an address of links themselves, or the own agent's. */
function isMet({ spec }: Link, { way = "direct", via = spec.via }: SeenLink): boolean {
  return way === "direct" && via === undefined;
}

/** The status that says so, besides that of lanes. */
export function linkStatus(link: Link, here: SeenLink, now: number): StatusOf<typeof Link> {
  const seen = whole(link, here);
  const { fault, handshakeAt, endpoint, ownKey, nextKey, carrier, way, via, tcpSource } = seen;
  const { receivedBytes, sentBytes, latencyMs, lossPercent, mtu } = seen;
  const { receivedPerSecond, sentPerSecond } = seen;
  const heard = isAlive(handshakeAt, now) ? "HandshakeSeen" : "NoHandshake";
  const reason = fault !== undefined ? "NotApplied" : isSilent(link, seen) ? "Silent" : heard;
  const { generation } = link.metadata;
  const { conditions } = setCondition(
    link.status?.conditions,
    {
      type: "Ready",
      status: reason === "HandshakeSeen" ? "True" : "False",
      reason,
      message: fault ?? (reason === "Silent" ? SILENT_MESSAGE : ""),
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
  return {
    ...(carrier !== undefined && { carrier }),
    ...(way !== undefined && { way: WAYS[way] }),
    ...(via !== undefined && { via }),
    ...(isMet(link, seen) && endpoint !== undefined && { endpoint }),
    ...(tcpSource !== undefined && { tcpSource }),
    ...(ownKey !== undefined && { ownKey }),
    ...(nextKey !== undefined && { nextKey }),
    ...(handshakeAt !== undefined && { handshakeAt: new Date(handshakeAt).toISOString() }),
    receivedBytes,
    sentBytes,
    ...(receivedPerSecond !== undefined && { receivedPerSecond }),
    ...(sentPerSecond !== undefined && { sentPerSecond }),
    ...(latencyMs !== undefined && { latencyMicroseconds: Math.round(latencyMs * 1_000) }),
    ...(lossPercent !== undefined && { lossPercent }),
    ...(mtu !== undefined && { mtu }),
    conditions,
  };
}
