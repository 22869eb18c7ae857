import { type CapturedPacket, lengthOf } from "./captured-packet.ts";

// linux/netlink.h, linux/netfilter/nfnetlink_log.h. Headers of netlink are in the order of the processor, of netfilter in that of the network.
const HEADER = 16;
const FAMILY_HEADER = 4;
const NLMSG_ERROR = 2;
const REQUEST_WITH_ACK = 0x5;
const PACKET = 0x400;
const CONFIG = 0x401;
const CFG = { command: 1, mode: 2, flags: 6 } as const;
const BIND = 1;
const COPY_PACKET = 2;
const NUMBERED = 1;
const ATTRIBUTE = { header: 1, payload: 9, sequence: 12 } as const;
const POSTROUTING = 4;

/** What has the kernel send all that rules log to a group: whole packets, with numbers that show what was lost. It confirms each of the three. */
export function bindMessages(group: number): Buffer {
  const mode = Buffer.alloc(6);
  mode.writeUInt32BE(0xffff, 0);
  mode[4] = COPY_PACKET;
  return Buffer.concat([
    message(group, CFG.command, Buffer.of(BIND)),
    message(group, CFG.mode, mode),
    message(group, CFG.flags, Buffer.of(0, NUMBERED)),
  ]);
}

/** How many confirmations follow those messages. */
export const CONFIRMATIONS = 3;

function message(group: number, type: number, value: Buffer): Buffer {
  const length = 4 + value.length;
  const bytes = Buffer.alloc(HEADER + FAMILY_HEADER + aligned(length));
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(CONFIG, 4);
  bytes.writeUInt16LE(REQUEST_WITH_ACK, 6);
  bytes.writeUInt16BE(group, HEADER + 2);
  bytes.writeUInt16LE(length, HEADER + FAMILY_HEADER);
  bytes.writeUInt16LE(type, HEADER + FAMILY_HEADER + 2);
  value.copy(bytes, HEADER + FAMILY_HEADER + 4);
  return bytes;
}

/** What the kernel says: a packet, or whether it takes what it was told (an error of the kernel's as its number, 0 for none). */
export type NflogEvent =
  | { readonly packet: Omit<CapturedPacket, "at">; readonly number: number | undefined }
  | { readonly error: number };

/** Takes the kernel's messages apart, which come in pieces of any size. */
export class NflogReader {
  #rest: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<NflogEvent> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= HEADER) {
      const length = bytes.readUInt32LE(0);
      if (length < HEADER) throw new Error(`a message of the kernel's is said to have ${length} bytes`);
      if (bytes.length < length) break;
      const event = eventOf(bytes.readUInt16LE(4), bytes.subarray(HEADER, length));
      if (event !== undefined) yield event;
      bytes = bytes.subarray(Math.min(aligned(length), bytes.length));
    }
    this.#rest = bytes;
  }
}

function eventOf(type: number, body: Buffer): NflogEvent | undefined {
  if (type === NLMSG_ERROR && body.length >= 4) return { error: Math.abs(body.readInt32LE(0)) };
  if (type !== PACKET) return undefined;
  let payload: Buffer | undefined;
  let hook = 0;
  let number: number | undefined;
  for (let at = FAMILY_HEADER; at + 4 <= body.length; ) {
    const length = body.readUInt16LE(at);
    if (length < 4) break;
    const value = body.subarray(at + 4, at + length);
    const kind = body.readUInt16LE(at + 2) & 0x3fff;
    if (kind === ATTRIBUTE.payload) payload = value;
    if (kind === ATTRIBUTE.header) hook = value[2] ?? 0;
    if (kind === ATTRIBUTE.sequence && value.length >= 4) number = value.readUInt32BE(0);
    at += aligned(length);
  }
  if (payload === undefined) return undefined;
  const bytes = Buffer.from(payload);
  const direction = hook === POSTROUTING ? "out" : "in";
  return { packet: { direction, bytes, length: lengthOf(bytes) }, number };
}

function aligned(length: number): number {
  return (length + 3) & ~3;
}
