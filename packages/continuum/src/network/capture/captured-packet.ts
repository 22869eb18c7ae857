/** A packet of a link as it is inside of it, by the addresses of the site at which it was seen. */
export interface CapturedPacket {
  /** When it was seen, in microseconds of Unix time. */
  readonly at: number;
  /** `in` from the peer, or `out` to it. */
  readonly direction: "in" | "out";
  /** Of IPv4 or IPv6, from its header on; as much of it as was asked for. */
  readonly bytes: Buffer;
  /** How long it is as a whole. */
  readonly length: number;
}

/** How long an IP packet says that it is; what is there, where it says nothing that can be. */
export function lengthOf(bytes: Buffer): number {
  const version = (bytes[0] ?? 0) >> 4;
  if (version === 4 && bytes.length >= 4) return Math.max(bytes.readUInt16BE(2), bytes.length);
  if (version === 6 && bytes.length >= 6) return Math.max(40 + bytes.readUInt16BE(4), bytes.length);
  return bytes.length;
}
