import { isIPv6 } from "node:net";

/** What marks packets of a hostile peer, so that whoever counts them knows them: a class of traffic that nobody else uses. */
export const HOSTILE_DSCP = 13;

/** What a packet carries: the number of its protocol, and its bytes. */
export interface Payload {
  readonly protocol: number;
  readonly bytes: Buffer;
}

export interface Ends {
  readonly from: string;
  readonly to: string;
}

export interface Shape {
  /** Of IPv4, filled up to words. */
  readonly options?: Buffer;
  /** Bytes from the packet's beginning at which this piece of it stands, and whether more follow. */
  readonly fragment?: { readonly offset: number; readonly more: boolean; readonly id?: number };
  /** Overwrites what stands in the header, which then is wrong. */
  readonly spoil?: (packet: Buffer) => void;
}

/** A packet of IPv4 or IPv6, by its addresses. */
export function packetOf(ends: Ends, payload: Payload, shape: Shape = {}): Buffer {
  const packet = isIPv6(ends.from) ? packet6(ends, payload) : packet4(ends, payload, shape);
  shape.spoil?.(packet);
  return packet;
}

function packet4(
  { from, to }: Ends,
  { protocol, bytes }: Payload,
  { options = Buffer.alloc(0), fragment }: Shape,
): Buffer {
  const length = 20 + options.length;
  const header = Buffer.alloc(length);
  header.writeUInt8(0x40 | (length / 4), 0);
  header.writeUInt8(HOSTILE_DSCP << 2, 1);
  header.writeUInt16BE(length + bytes.length, 2);
  header.writeUInt16BE(fragment?.id ?? 4711, 4);
  header.writeUInt16BE((fragment?.more ? 0x2000 : 0) | ((fragment?.offset ?? 0) / 8), 6);
  header.writeUInt8(64, 8);
  header.writeUInt8(protocol, 9);
  addressBytes(from).copy(header, 12);
  addressBytes(to).copy(header, 16);
  options.copy(header, 20);
  header.writeUInt16BE(checksum(header), 10);
  return Buffer.concat([header, bytes]);
}

function packet6({ from, to }: Ends, { protocol, bytes }: Payload): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt32BE(0x60000000 | (HOSTILE_DSCP << 22), 0);
  header.writeUInt16BE(bytes.length, 4);
  header.writeUInt8(protocol, 6);
  header.writeUInt8(64, 7);
  addressBytes(from).copy(header, 8);
  addressBytes(to).copy(header, 24);
  return Buffer.concat([header, bytes]);
}

export function udp(ends: Ends, to: number, text = "hostile", from = 7000): Payload {
  const body = Buffer.from(text);
  const bytes = Buffer.alloc(8 + body.length);
  bytes.writeUInt16BE(from, 0);
  bytes.writeUInt16BE(to, 2);
  bytes.writeUInt16BE(bytes.length, 4);
  body.copy(bytes, 8);
  bytes.writeUInt16BE(checksum(Buffer.concat([pseudo(ends, 17, bytes.length), bytes])) || 0xffff, 6);
  return { protocol: 17, bytes };
}

export function tcp(ends: Ends, to: number, flags: number, from = 7000): Payload {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt16BE(from, 0);
  bytes.writeUInt16BE(to, 2);
  bytes.writeUInt32BE(4711, 4);
  bytes.writeUInt32BE(flags & 0x10 ? 815 : 0, 8);
  bytes.writeUInt8(0x50, 12);
  bytes.writeUInt8(flags, 13);
  bytes.writeUInt16BE(65_000, 14);
  bytes.writeUInt16BE(checksum(Buffer.concat([pseudo(ends, 6, bytes.length), bytes])), 16);
  return { protocol: 6, bytes };
}

/** Of the family of the addresses: types differ. */
export function icmp(ends: Ends, type: number, code: number, body: Buffer, rest = 0): Payload {
  const bytes = Buffer.alloc(8 + body.length);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt8(code, 1);
  bytes.writeUInt32BE(rest, 4);
  body.copy(bytes, 8);
  const is6 = isIPv6(ends.from);
  bytes.writeUInt16BE(checksum(is6 ? Buffer.concat([pseudo(ends, 58, bytes.length), bytes]) : bytes), 2);
  return { protocol: is6 ? 58 : 1, bytes };
}

/** A header of IPv6 that stands before another one. */
export function extension(number: number, next: Payload, { body = Buffer.alloc(6), isFragment = false } = {}): Payload {
  const head = Buffer.alloc(2);
  head.writeUInt8(next.protocol, 0);
  head.writeUInt8(isFragment ? 0 : (body.length + 2) / 8 - 1, 1);
  return { protocol: number, bytes: Buffer.concat([head, body, next.bytes]) };
}

function pseudo({ from, to }: Ends, protocol: number, length: number): Buffer {
  const end = Buffer.alloc(8);
  end.writeUInt32BE(length, 0);
  end.writeUInt8(protocol, 7);
  return Buffer.concat([addressBytes(from), addressBytes(to), end]);
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i] ?? 0) * 256 + (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

export function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const words = (text = "") => (text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16)));
  const [before, after] = [words(head), words(tail)];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const bytes = Buffer.alloc(16);
  for (const [i, word] of [...before, ...Array(zeros).fill(0), ...after].entries()) bytes.writeUInt16BE(word, 2 * i);
  return bytes;
}
