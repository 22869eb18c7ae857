/** A peer as one WireGuard interface has it, or shall have it. Keys are hexadecimal, as in WireGuard's own protocol. */
export interface WireguardPeer {
  readonly publicKey: string;
  /** `address:port`; absent where the peer dials, or where it is to stay what it is. */
  readonly endpoint?: string;
  readonly keepaliveSeconds: number;
  readonly ranges: readonly string[];
}

/** What an interface says of a peer. */
export interface WireguardPeerState extends WireguardPeer {
  /** Unix time; 0 before the first one. */
  readonly handshakeSeconds: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export interface WireguardState {
  readonly privateKey: string;
  readonly listenPort: number;
  readonly peers: ReadonlyMap<string, WireguardPeerState>;
}

/** Lines of one `set` operation that turns what is into what shall be; empty where it is so. Endpoints are compared only where wanted. */
export function wireguardChange(
  from: ReadonlyMap<string, WireguardPeer>,
  to: ReadonlyMap<string, WireguardPeer>,
): string[] {
  const lines: string[] = [];
  // First, so that their ranges are free for others.
  for (const key of from.keys()) if (!to.has(key)) lines.push(`public_key=${key}`, "remove=true");
  for (const [key, wanted] of to) {
    const old = from.get(key);
    const changes: string[] = [];
    if (wanted.endpoint !== undefined && wanted.endpoint !== old?.endpoint) changes.push(`endpoint=${wanted.endpoint}`);
    if (wanted.keepaliveSeconds !== (old?.keepaliveSeconds ?? 0))
      changes.push(`persistent_keepalive_interval=${wanted.keepaliveSeconds}`);
    if (old === undefined || !sameRanges(old.ranges, wanted.ranges))
      changes.push("replace_allowed_ips=true", ...wanted.ranges.map((range) => `allowed_ip=${withLength(range)}`));
    if (old === undefined || changes.length > 0) lines.push(`public_key=${key}`, ...changes);
  }
  return lines;
}

/** Reads the answer to `get=1`. */
export function parseWireguardState(text: string): WireguardState {
  let privateKey = "";
  let listenPort = 0;
  const peers = new Map<string, WireguardPeerState>();
  let peer: { -readonly [K in keyof WireguardPeerState]: WireguardPeerState[K] } | undefined;
  let ranges: string[] = [];
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    const [key, value] = [line.slice(0, at), line.slice(at + 1)];
    if (key === "private_key") privateKey = value;
    else if (key === "listen_port") listenPort = Number(value);
    else if (key === "public_key") {
      ranges = [];
      peer = { publicKey: value, keepaliveSeconds: 0, ranges, handshakeSeconds: 0, receivedBytes: 0, sentBytes: 0 };
      peers.set(value, peer);
    } else if (peer === undefined) continue;
    else if (key === "endpoint") peer.endpoint = value;
    else if (key === "persistent_keepalive_interval") peer.keepaliveSeconds = Number(value);
    else if (key === "allowed_ip") ranges.push(withoutFullLength(value));
    else if (key === "last_handshake_time_sec") peer.handshakeSeconds = Number(value);
    else if (key === "rx_bytes") peer.receivedBytes = Number(value);
    else if (key === "tx_bytes") peer.sentBytes = Number(value);
  }
  return { privateKey, listenPort, peers };
}

function sameRanges(a: readonly string[], b: readonly string[]): boolean {
  const there = new Set(a);
  return there.size === new Set(b).size && b.every((range) => there.has(range));
}

function withLength(range: string): string {
  if (range.includes("/")) return range;
  return range.includes(":") ? `${range}/128` : `${range}/32`;
}

function withoutFullLength(range: string): string {
  return range.includes(":") ? range.replace(/\/128$/, "") : range.replace(/\/32$/, "");
}
