// As much of DNS (RFC 1035, 2782, 3596, 6891) as a cluster's names need. Pure.

export const RECORD_TYPES = { A: 1, CNAME: 5, SOA: 6, PTR: 12, AAAA: 28, SRV: 33, OPT: 41, ANY: 255 } as const;

export const RESPONSE_CODES = {
  ok: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
} as const;

export interface Question {
  /** In lower case, without the dot at the end. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface Query {
  readonly id: number;
  readonly recursionDesired: boolean;
  readonly opcode: number;
  readonly question: Question;
  /** How long an answer over UDP may be. */
  readonly size: number;
}

export type ResourceRecord = { readonly name: string; readonly ttl: number } & (
  | { readonly type: "A" | "AAAA"; readonly address: string }
  | { readonly type: "CNAME" | "PTR"; readonly target: string }
  | { readonly type: "SRV"; readonly target: string; readonly port: number; readonly weight: number }
  | { readonly type: "SOA"; readonly zone: string }
);

export interface Answer {
  readonly code: number;
  readonly answers: readonly ResourceRecord[];
  /** What belongs to names in the answers. */
  readonly additional?: readonly ResourceRecord[];
  /** Of the zone, for names that are not there. */
  readonly authority?: readonly ResourceRecord[];
}

/** The query in a message, or undefined for what is none (or none of ours to answer). */
export function parseQuery(message: Buffer): Query | undefined {
  if (message.length < 17 || (message.readUInt16BE(2) & 0x8000) !== 0 || message.readUInt16BE(4) !== 1)
    return undefined;
  const flags = message.readUInt16BE(2);
  const name = readName(message, 12);
  if (name === undefined || name.end + 4 > message.length) return undefined;
  return {
    id: message.readUInt16BE(0),
    recursionDesired: (flags & 0x0100) !== 0,
    opcode: (flags >> 11) & 0xf,
    question: { name: name.text, type: message.readUInt16BE(name.end), class: message.readUInt16BE(name.end + 2) },
    size: payloadSize(message, name.end + 4),
  };
}

function readName(message: Buffer, start: number): { text: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = message[at];
    // Compressed names have no place in a question.
    if (length === undefined || length > 63 || at - start > 254) return undefined;
    if (length === 0) return { text: labels.join(".").toLowerCase(), end: at + 1 };
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
}

/** By the OPT record, which is all that may follow here. */
function payloadSize(message: Buffer, at: number): number {
  const isOpt = message.readUInt16BE(10) > 0 && message[at] === 0 && at + 5 <= message.length;
  if (!isOpt || message.readUInt16BE(at + 1) !== RECORD_TYPES.OPT) return 512;
  return Math.min(Math.max(message.readUInt16BE(at + 3), 512), 4096);
}

/** The answer as bytes; one that is longer than `size` is cut, and says so: the client asks again over TCP. */
export function formatAnswer(
  query: Query,
  { code, answers, additional = [], authority = [] }: Answer,
  size: number,
): Buffer {
  const question = Buffer.concat([
    encodeName(query.question.name),
    u16(query.question.type),
    u16(query.question.class),
  ]);
  const bodies = [answers, authority, additional].map((records) => records.map(encodeRecord));
  const whole = [question, ...bodies.flat()];
  const isCut = 12 + whole.reduce((sum, { length }) => sum + length, 0) > size;
  const counts = isCut ? [0, 0, 0] : bodies.map(({ length }) => length);
  // An answer, authoritative, recursion available.
  const flags = 0x8480 | (query.recursionDesired ? 0x0100 : 0) | (isCut ? 0x0200 : 0) | code;
  const head = Buffer.concat([u16(query.id), u16(flags), u16(1), ...counts.map(u16)]);
  return Buffer.concat([head, ...(isCut ? [question] : whole)]);
}

function encodeRecord(record: ResourceRecord): Buffer {
  const data = encodeData(record);
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(record.ttl);
  return Buffer.concat([encodeName(record.name), u16(RECORD_TYPES[record.type]), u16(1), ttl, u16(data.length), data]);
}

function encodeData(record: ResourceRecord): Buffer {
  switch (record.type) {
    case "A":
      return Buffer.from(record.address.split(".").map(Number));
    case "AAAA":
      return encodeIpv6(record.address);
    case "CNAME":
    case "PTR":
      return encodeName(record.target);
    case "SRV":
      return Buffer.concat([u16(0), u16(record.weight), u16(record.port), encodeName(record.target)]);
    case "SOA": {
      const numbers = Buffer.alloc(20);
      for (const [index, value] of [1, 7200, 1800, 86_400, 5].entries()) numbers.writeUInt32BE(value, index * 4);
      return Buffer.concat([encodeName(`ns.dns.${record.zone}`), encodeName(`hostmaster.${record.zone}`), numbers]);
    }
  }
}

function encodeIpv6(address: string): Buffer {
  const [before = "", after] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groups(before), after === undefined ? [] : groups(after)];
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Buffer.concat(all.map(u16));
}

function encodeName(name: string): Buffer {
  const labels = name === "" ? [] : name.split(".");
  return Buffer.concat([
    ...labels.map((label) =>
      Buffer.concat([Buffer.from([Math.min(label.length, 63)]), Buffer.from(label.slice(0, 63), "latin1")]),
    ),
    Buffer.from([0]),
  ]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value & 0xffff);
  return bytes;
}
