import type { Family } from "../ip-range.ts";
import {
  attribute,
  attributesOf,
  type NetlinkError,
  NetlinkReader,
  type NetlinkSaid,
  netlinkMessage,
  REQUEST_ALL,
  REQUEST_WITH_ACK,
} from "../netlink-message.ts";

// linux/netlink.h, linux/netfilter/nfnetlink_conntrack.h.
const DONE = 3;
const NEW = 0x100;
const GET = 0x101;
const DELETE = 0x102;
const ATTRIBUTE = { original: 1, reply: 2, status: 3, id: 12, zone: 18, statusMask: 26 } as const;
const [ADDRESSES, PROTOCOL] = [1, 2];
const PROTOCOL_NUMBER = 1;
const [IPV4, IPV6] = [2, 10];
const ANSWERED = 0x2;
const SOURCE_TRANSLATED = 0x10;

/** Which flows are asked for: bits of what the kernel says of each, and what they are to be. */
export interface FlowSort {
  readonly bits: number;
  readonly are: number;
}

/** Those that have another source than who began them. */
export const TRANSLATED: FlowSort = { bits: SOURCE_TRANSLATED, are: SOURCE_TRANSLATED };
/** Those of which nothing has come back. */
export const UNANSWERED: FlowSort = { bits: ANSWERED, are: 0 };

/** A flow that the kernel remembers: who began it with whom, and who, as it has it, answers to whom. */
export interface TrackedFlow {
  readonly family: Family;
  readonly from: bigint;
  readonly to: bigint;
  readonly answersFrom: bigint;
  readonly answersTo: bigint;
  /** Such as 6 for TCP. */
  readonly protocol: number;
  readonly isAnswered: boolean;
  /** What makes the kernel forget it, and confirm that. */
  readonly forget: Buffer;
}

/** Has the kernel tell of all flows of a family and a sort; an older one tells of others too. */
export function listMessage(family: Family, { bits, are }: FlowSort): Buffer {
  const wanted = [attribute(ATTRIBUTE.status, numberBytes(are)), attribute(ATTRIBUTE.statusMask, numberBytes(bits))];
  return netlinkMessage({ type: GET, flags: REQUEST_ALL, family: family === 4 ? IPV4 : IPV6 }, wanted);
}

/** What the kernel says of flows: one of them, that there are no more, or whether it has done what it was told. */
export type FlowEvent = { readonly flow: TrackedFlow } | { readonly isLast: true } | NetlinkError;

export function flowReader(): NetlinkReader<FlowEvent> {
  return new NetlinkReader(eventOf);
}

function eventOf({ type, family, attributes }: NetlinkSaid): FlowEvent | undefined {
  if (type === DONE) return { isLast: true };
  if (type !== NEW || (family !== IPV4 && family !== IPV6)) return undefined;
  const all = attributesOf(attributes);
  const [original, reply] = [addresses(all.get(ATTRIBUTE.original)), addresses(all.get(ATTRIBUTE.reply))];
  if (original === undefined || reply === undefined) return undefined;
  const named = [ATTRIBUTE.original, ATTRIBUTE.id, ATTRIBUTE.zone].flatMap((kind) => {
    const value = all.get(kind);
    return value === undefined ? [] : [attribute(kind, value, kind === ATTRIBUTE.original)];
  });
  const forget = netlinkMessage({ type: DELETE, flags: REQUEST_WITH_ACK, family }, named);
  const [from, to] = original;
  const [answersFrom, answersTo] = reply;
  const ends = { family: family === IPV4 ? 4 : 6, from, to, answersFrom, answersTo } as const;
  const isAnswered = ((all.get(ATTRIBUTE.status)?.readUInt32BE() ?? ANSWERED) & ANSWERED) !== 0;
  return { flow: { ...ends, protocol: protocolOf(all.get(ATTRIBUTE.original)), isAnswered, forget } };
}

function protocolOf(tuple: Buffer | undefined): number {
  const found = tuple && attributesOf(tuple).get(PROTOCOL);
  return (found && attributesOf(found).get(PROTOCOL_NUMBER)?.[0]) ?? 0;
}

/** Source and destination of one direction. */
function addresses(tuple: Buffer | undefined): [bigint, bigint] | undefined {
  const found = tuple && attributesOf(tuple).get(ADDRESSES);
  const [source, destination] = found === undefined ? [] : attributesOf(found).values();
  return source && destination && [numberOf(source), numberOf(destination)];
}

function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex")}`);
}

function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
