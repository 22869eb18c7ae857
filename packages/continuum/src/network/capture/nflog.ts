import {
  attribute,
  attributesOf,
  type NetlinkError,
  NetlinkReader,
  type NetlinkSaid,
  netlinkMessage,
  REQUEST_WITH_ACK,
} from "../netlink-message.ts";
import { type CapturedPacket, lengthOf } from "./captured-packet.ts";

// linux/netfilter/nfnetlink_log.h.
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
    bindMessage(group),
    configure(group, CFG.mode, mode),
    configure(group, CFG.flags, Buffer.of(0, NUMBERED)),
  ]);
}

/** What gives a group to whoever tells it, for as long as that has its socket. */
export function bindMessage(group: number): Buffer {
  return configure(group, CFG.command, Buffer.of(BIND));
}

function configure(group: number, kind: number, value: Buffer): Buffer {
  return netlinkMessage({ type: CONFIG, flags: REQUEST_WITH_ACK, resource: group }, [attribute(kind, value)]);
}

/** How many confirmations follow those messages. */
export const CONFIRMATIONS = 3;

/** What the kernel says: a packet, or whether it takes what it was told. */
export type NflogEvent =
  | { readonly packet: Omit<CapturedPacket, "at">; readonly number: number | undefined }
  | NetlinkError;

export function nflogReader(): NetlinkReader<NflogEvent> {
  return new NetlinkReader(eventOf);
}

function eventOf({ type, attributes }: NetlinkSaid): NflogEvent | undefined {
  if (type !== PACKET) return undefined;
  const all = attributesOf(attributes);
  const payload = all.get(ATTRIBUTE.payload);
  if (payload === undefined) return undefined;
  const hook = all.get(ATTRIBUTE.header)?.[2];
  const sequence = all.get(ATTRIBUTE.sequence);
  const number = sequence !== undefined && sequence.length >= 4 ? sequence.readUInt32BE(0) : undefined;
  const bytes = Buffer.from(payload);
  const direction = hook === POSTROUTING ? "out" : "in";
  return { packet: { direction, bytes, length: lengthOf(bytes) }, number };
}
