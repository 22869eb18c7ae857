// linux/netlink.h, linux/netfilter/nfnetlink.h. Headers of netlink are in the order of the processor, what they hold in that of the network.
const HEADER = 16;
/** What netfilter has before attributes: a family, a version, and the number of what is meant. */
const FAMILY_HEADER = 4;
const ERROR = 2;
const NESTED = 0x8000;
const KIND = 0x3fff;

/** Flags: something is asked for, of which there may be many; or is to be done, and confirmed. */
export const REQUEST_ALL = 0x301;
export const REQUEST_WITH_ACK = 0x5;

export interface NetlinkHead {
  readonly type: number;
  readonly flags: number;
  /** As netfilter counts families. @default none */
  readonly family?: number;
  /** Such as the group of a log. @default none */
  readonly resource?: number;
}

/** A message for netfilter's part of the kernel. */
export function netlinkMessage(head: NetlinkHead, attributes: readonly Buffer[]): Buffer {
  const body = Buffer.concat(attributes);
  const bytes = Buffer.alloc(HEADER + FAMILY_HEADER + body.length);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(head.type, 4);
  bytes.writeUInt16LE(head.flags, 6);
  bytes[HEADER] = head.family ?? 0;
  bytes.writeUInt16BE(head.resource ?? 0, HEADER + 2);
  body.copy(bytes, HEADER + FAMILY_HEADER);
  return bytes;
}

export function attribute(kind: number, value: Buffer, isNested = false): Buffer {
  const bytes = Buffer.alloc(aligned(4 + value.length));
  bytes.writeUInt16LE(4 + value.length, 0);
  bytes.writeUInt16LE(kind | (isNested ? NESTED : 0), 2);
  value.copy(bytes, 4);
  return bytes;
}

/** Those of a message, or of an attribute that holds others, by kind. */
export function attributesOf(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    if (length < 4) break;
    found.set(bytes.readUInt16LE(at + 2) & KIND, bytes.subarray(at + 4, at + length));
    at += aligned(length);
  }
  return found;
}

/** What netfilter's part of the kernel says. */
export interface NetlinkSaid {
  readonly type: number;
  /** As netfilter counts families. */
  readonly family: number;
  readonly attributes: Buffer;
}

/** Whether the kernel has done what it was told: an error's number, 0 for none. */
export interface NetlinkError {
  readonly error: number;
}

/** Takes the kernel's messages apart, which come in pieces of any size; of what each says only that counts which is something to its owner. */
export class NetlinkReader<Event> {
  readonly #eventOf: (said: NetlinkSaid) => Event | undefined;
  #rest: Buffer = Buffer.alloc(0);

  constructor(eventOf: (said: NetlinkSaid) => Event | undefined) {
    this.#eventOf = eventOf;
  }

  *read(chunk: Buffer): Generator<Event | NetlinkError> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= HEADER) {
      const length = bytes.readUInt32LE(0);
      if (length < HEADER) throw new Error(`a message of the kernel's is said to have ${length} bytes`);
      if (bytes.length < length) break;
      const event = this.#read(bytes.readUInt16LE(4), bytes.subarray(HEADER, length));
      if (event !== undefined) yield event;
      bytes = bytes.subarray(Math.min(aligned(length), bytes.length));
    }
    this.#rest = bytes;
  }

  #read(type: number, body: Buffer): Event | NetlinkError | undefined {
    if (type === ERROR && body.length >= 4) return { error: Math.abs(body.readInt32LE(0)) };
    return this.#eventOf({ type, family: body[0] ?? 0, attributes: body.subarray(FAMILY_HEADER) });
  }
}

function aligned(length: number): number {
  return (length + 3) & ~3;
}
