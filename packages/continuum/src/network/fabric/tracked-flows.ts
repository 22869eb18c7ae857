import type { Family } from "../ip-range.ts";

// linux/netlink.h, linux/netfilter/nfnetlink_conntrack.h. Headers of netlink are in the order of the processor, what they hold in that of the network.
const HEADER = 16;
const FAMILY_HEADER = 4;
const DONE = 3;
const ERROR = 2;
const NEW = 0x100;
const GET = 0x101;
const DELETE = 0x102;
const REQUEST_ALL = 0x301;
const REQUEST_WITH_ACK = 0x5;
const ATTRIBUTE = { original: 1, reply: 2, status: 3, id: 12, zone: 18, statusMask: 26 } as const;
const ADDRESSES = 1;
const [IPV4, IPV6] = [2, 10];
const SOURCE_TRANSLATED = 0x10;

/** A flow that the kernel remembers: who began it with whom, and who, as it has it, answers to whom. */
export interface TrackedFlow {
  readonly family: Family;
  readonly from: bigint;
  readonly to: bigint;
  readonly answersFrom: bigint;
  readonly answersTo: bigint;
  /** What makes the kernel forget it, and confirm that. */
  readonly forget: Buffer;
}

/** Has the kernel tell of all flows of a family whose source it translates; an older one tells of others too. */
export function listMessage(family: Family): Buffer {
  const status = Buffer.alloc(4);
  status.writeUInt32BE(SOURCE_TRANSLATED);
  const wanted = [attribute(ATTRIBUTE.status, status), attribute(ATTRIBUTE.statusMask, status)];
  return message(GET, REQUEST_ALL, family, wanted);
}

/** What the kernel says of flows: one of them, that there are no more, or whether it has done what it was told (an error's number, 0 for none). */
export type FlowEvent = { readonly flow: TrackedFlow } | { readonly isLast: true } | { readonly error: number };

/** Takes the kernel's messages apart, which come in pieces of any size. */
export class FlowReader {
  #rest: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<FlowEvent> {
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

function eventOf(type: number, body: Buffer): FlowEvent | undefined {
  if (type === DONE) return { isLast: true };
  if (type === ERROR && body.length >= 4) return { error: Math.abs(body.readInt32LE(0)) };
  if (type !== NEW || body.length < FAMILY_HEADER) return undefined;
  const family = body[0] === IPV4 ? 4 : body[0] === IPV6 ? 6 : undefined;
  const all = attributes(body.subarray(FAMILY_HEADER));
  const [original, reply] = [addresses(all.get(ATTRIBUTE.original)), addresses(all.get(ATTRIBUTE.reply))];
  if (family === undefined || original === undefined || reply === undefined) return undefined;
  const named = [ATTRIBUTE.original, ATTRIBUTE.id, ATTRIBUTE.zone].flatMap((kind) => {
    const value = all.get(kind);
    return value === undefined ? [] : [attribute(kind, value, kind === ATTRIBUTE.original)];
  });
  const forget = message(DELETE, REQUEST_WITH_ACK, family, named);
  const [from, to] = original;
  const [answersFrom, answersTo] = reply;
  return { flow: { family, from, to, answersFrom, answersTo, forget } };
}

/** Source and destination of one direction. */
function addresses(tuple: Buffer | undefined): [bigint, bigint] | undefined {
  const found = tuple && attributes(tuple).get(ADDRESSES);
  const [source, destination] = found === undefined ? [] : attributes(found).values();
  return source && destination && [numberOf(source), numberOf(destination)];
}

function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex")}`);
}

function attributes(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    if (length < 4) break;
    found.set(bytes.readUInt16LE(at + 2) & 0x3fff, bytes.subarray(at + 4, at + length));
    at += aligned(length);
  }
  return found;
}

const NESTED = 0x8000;

function attribute(kind: number, value: Buffer, isNested = false): Buffer {
  const bytes = Buffer.alloc(aligned(4 + value.length));
  bytes.writeUInt16LE(4 + value.length, 0);
  bytes.writeUInt16LE(kind | (isNested ? NESTED : 0), 2);
  value.copy(bytes, 4);
  return bytes;
}

function message(type: number, flags: number, family: Family, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const bytes = Buffer.alloc(HEADER + FAMILY_HEADER + body.length);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(type, 4);
  bytes.writeUInt16LE(flags, 6);
  bytes[HEADER] = family === 4 ? IPV4 : IPV6;
  body.copy(bytes, HEADER + FAMILY_HEADER);
  return bytes;
}

function aligned(length: number): number {
  return (length + 3) & ~3;
}
