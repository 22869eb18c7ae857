import { formatAddress } from "../ip-range.ts";
import type { CapturedPacket } from "./captured-packet.ts";

const TCP = 6;
const UDP = 17;
const ICMP = 1;
const ICMP6 = 58;
const FRAGMENT = 44;
/** Headers of IPv6 that stand before what is carried: hop by hop, routing, destination. */
const BEFORE = [0, 43, 60];

interface Parts {
  readonly ip: "IP" | "IP6";
  readonly source: string;
  readonly destination: string;
  readonly protocol: number;
  /** What is carried, as far as it is there. */
  readonly rest: Buffer;
  /** How long that is as a whole. */
  readonly length: number;
  /** A piece of a packet that is not its beginning. */
  readonly isLater: boolean;
}

/** One line for people, much as tcpdump has it: `12:00:01.000250 out IP 10.42.0.11.40312 > 240.0.0.21.80: Flags [S], seq 7, win 64240, length 0`. */
export function packetLine({ at, direction, bytes, length }: CapturedPacket): string {
  const parts = partsOf(bytes, length);
  const begins = `${timeOf(at)} ${direction.padEnd(3)}`;
  if (parts === undefined) return `${begins} ${length} bytes that are no packet of IP`;
  const { ip, source, destination, protocol, rest, isLater } = parts;
  if (isLater) return `${begins} ${ip} ${source} > ${destination}: a later piece of a packet, length ${parts.length}`;
  const hasPorts = (protocol === TCP || protocol === UDP) && rest.length >= 4;
  const [from, to] = hasPorts ? [`.${rest.readUInt16BE(0)}`, `.${rest.readUInt16BE(2)}`] : ["", ""];
  return `${begins} ${ip} ${source}${from} > ${destination}${to}: ${carried(parts)}`;
}

function partsOf(bytes: Buffer, whole: number): Parts | undefined {
  const version = (bytes[0] ?? 0) >> 4;
  if (version === 4 && bytes.length >= 20) {
    const header = ((bytes[0] ?? 0) & 0xf) * 4;
    return {
      ip: "IP",
      source: addressAt(bytes, 4, 12),
      destination: addressAt(bytes, 4, 16),
      protocol: bytes[9] ?? 0,
      rest: bytes.subarray(header),
      length: Math.max(0, whole - header),
      isLater: (bytes.readUInt16BE(6) & 0x1fff) !== 0,
    };
  }
  if (version !== 6 || bytes.length < 40) return undefined;
  let protocol = bytes[6] ?? 0;
  let at = 40;
  let isLater = false;
  while ((BEFORE.includes(protocol) || protocol === FRAGMENT) && bytes.length >= at + 8) {
    const isFragment = protocol === FRAGMENT;
    if (isFragment) isLater = bytes.readUInt16BE(at + 2) >> 3 !== 0;
    protocol = bytes[at] ?? 0;
    at += isFragment ? 8 : ((bytes[at + 1] ?? 0) + 1) * 8;
  }
  return {
    ip: "IP6",
    source: addressAt(bytes, 6, 8),
    destination: addressAt(bytes, 6, 24),
    protocol,
    rest: bytes.subarray(at),
    length: Math.max(0, whole - at),
    isLater,
  };
}

function carried({ protocol, rest, length }: Parts): string {
  if (protocol === TCP && rest.length >= 20) return tcp(rest, length);
  if (protocol === UDP && rest.length >= 8) return `UDP, length ${Math.max(0, length - 8)}`;
  if (protocol === ICMP || protocol === ICMP6) return icmp(protocol, rest, length);
  const name = { [TCP]: "TCP", [UDP]: "UDP" }[protocol] ?? `protocol ${protocol}`;
  return `${name}, length ${length}`;
}

const FLAGS = [
  [0x02, "S"],
  [0x01, "F"],
  [0x04, "R"],
  [0x08, "P"],
  [0x20, "U"],
  [0x40, "E"],
  [0x80, "W"],
  [0x10, "."],
] as const;

function tcp(rest: Buffer, length: number): string {
  const bits = rest[13] ?? 0;
  const flags = FLAGS.filter(([bit]) => bits & bit).map(([, letter]) => letter);
  const payload = Math.max(0, length - ((rest[12] ?? 0) >> 4) * 4);
  const sequence = rest.readUInt32BE(4);
  const ends = payload > 0 ? `${sequence}:${(sequence + payload) >>> 0}` : String(sequence);
  return [
    `Flags [${flags.join("") || "none"}]`,
    `seq ${ends}`,
    ...(bits & 0x10 ? [`ack ${rest.readUInt32BE(8)}`] : []),
    `win ${rest.readUInt16BE(14)}`,
    `length ${payload}`,
  ].join(", ");
}

const ICMP_TYPES: Readonly<Record<string, string>> = {
  "1/0": "echo reply",
  "1/3": "unreachable",
  "1/8": "echo request",
  "1/11": "time exceeded",
  "58/1": "unreachable",
  "58/2": "packet too big",
  "58/3": "time exceeded",
  "58/128": "echo request",
  "58/129": "echo reply",
};

function icmp(protocol: number, rest: Buffer, length: number): string {
  const [type = 0, code = 0] = rest;
  const said = ICMP_TYPES[`${protocol}/${type}`] ?? `type ${type} code ${code}`;
  const isEcho = said.startsWith("echo") && rest.length >= 8;
  const echo = isEcho ? `, id ${rest.readUInt16BE(4)}, seq ${rest.readUInt16BE(6)}` : "";
  // What has to be cut smaller: the next MTU.
  const isTooBig = protocol === ICMP && type === 3 && code === 4 && rest.length >= 8;
  const mtu = isTooBig ? `, to be cut to ${rest.readUInt16BE(6)}` : "";
  return `${protocol === ICMP ? "ICMP" : "ICMP6"} ${said}${echo}${mtu}, length ${length}`;
}

function addressAt(bytes: Buffer, family: 4 | 6, at: number): string {
  const hex = bytes.subarray(at, at + (family === 4 ? 4 : 16)).toString("hex");
  return formatAddress(family, BigInt(`0x${hex}`));
}

function timeOf(at: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const date = new Date(Math.floor(at / 1000));
  const rest = String(Math.floor(at % 1e6)).padStart(6, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${rest}`;
}
