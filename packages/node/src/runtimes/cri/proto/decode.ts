import type { Field, Scalar, Schema } from "./message.ts";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** A message with the default of whatever was left out. Fields that nobody asked for are skipped. Throws for what is none. */
export function decode<T>(schema: Schema<T>, bytes: Uint8Array): T {
  return readMessage(schema, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) as T;
}

interface Known<T> {
  readonly text: string;
  readonly item: T;
}

/**
 * Reads lists again and again of which most items are as they were: an item of the same bytes as one of the last list is
 * that one, not read anew. For answers whose only field is the list, with the number 1.
 */
export class ListDecoder<T> {
  readonly #item: Schema<T>;
  #known = new Map<string, Known<T>>();

  constructor(item: Schema<T>) {
    this.#item = item;
  }

  decode(bytes: Uint8Array): T[] {
    const items: T[] = [];
    const known = new Map<string, Known<T>>();
    const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    while (!reader.ended) {
      const tag = reader.number();
      if (tag !== ((1 << 3) | BYTES)) {
        reader.skip(tag & 7);
        continue;
      }
      const part = reader.bytes();
      const text = part.toString("latin1");
      const entry = this.#known.get(text) ?? { text, item: readMessage(this.#item, part) as T };
      // The text that is kept already, so that the new one is garbage at once.
      known.set(entry.text, entry);
      items.push(entry.item);
    }
    this.#known = known;
    return items;
  }
}

function readMessage(schema: Schema<unknown>, bytes: Buffer): Record<string, unknown> {
  const fields = schema.fields();
  const message: Record<string, unknown> = {};
  for (const [name, , type] of fields) {
    const value = defaultOf(type);
    if (value !== undefined) message[name] = value;
  }
  const reader = new Reader(bytes);
  while (!reader.ended) {
    const tag = reader.number();
    const field = fields.find(([, number]) => number === tag >>> 3);
    if (field === undefined) reader.skip(tag & 7);
    else readField(reader, tag & 7, field, message);
  }
  return message;
}

function defaultOf(type: Field[2]): unknown {
  if (type === "map") return {};
  if (typeof type !== "string") return "fields" in type ? undefined : [];
  if (type === "string") return "";
  if (type === "bytes") return Buffer.alloc(0);
  if (type === "bool") return false;
  return type === "int64" || type === "uint64" ? 0n : 0;
}

function readField(reader: Reader, wire: number, [name, , type]: Field, message: Record<string, unknown>): void {
  if (type === "map") {
    const { key, value } = readMessage(entry, reader.bytes()) as { key: string; value: string };
    (message[name] as Record<string, string>)[key] = value;
  } else if (typeof type === "string") {
    message[name] = readScalar(reader, wire, type);
  } else if ("fields" in type) {
    message[name] = readMessage(type, reader.bytes());
  } else {
    readAll(reader, wire, type[0], message[name] as unknown[]);
  }
}

const entry: Schema<unknown> = { fields: () => entryFields };
const entryFields: readonly Field[] = [
  ["key", 1, "string"],
  ["value", 2, "string"],
];

/** Numbers may come one by one, or many in one. */
function readAll(reader: Reader, wire: number, type: Scalar | Schema<unknown>, values: unknown[]): void {
  if (typeof type !== "string") {
    values.push(readMessage(type, reader.bytes()));
  } else if (wire !== BYTES || type === "string" || type === "bytes") {
    values.push(readScalar(reader, wire, type));
  } else {
    const packed = new Reader(reader.bytes());
    while (!packed.ended) values.push(readScalar(packed, VARINT, type));
  }
}

function readScalar(reader: Reader, wire: number, type: Scalar): unknown {
  const isText = type === "string" || type === "bytes";
  if (wire !== (isText ? BYTES : VARINT)) throw new TypeError(`a ${type} that is encoded as ${wire}`);
  switch (type) {
    case "string":
      return reader.bytes().toString("utf8");
    case "bytes":
      return reader.bytes();
    case "bool":
      return reader.integer() !== 0n;
    case "int64":
      return BigInt.asIntN(64, reader.integer());
    case "uint64":
      return reader.integer();
    case "uint32":
      return Number(BigInt.asUintN(32, reader.integer()));
    default:
      return Number(BigInt.asIntN(32, reader.integer()));
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get ended(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** A length or tag, which are never as long as an integer may be. */
  number(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 35; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new RangeError("a length or tag that is too long");
  }

  integer(): bigint {
    let low = 0;
    let at = this.#at;
    // Most are short, and numbers are quicker.
    for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
      const byte = this.#bytes[at++];
      if (byte === undefined) throw new RangeError("a message that ends in the middle");
      low += (byte & 127) * factor;
      if (byte < 128) {
        this.#at = at;
        return BigInt(low);
      }
    }
    this.#at = at;
    let value = BigInt(low);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new RangeError("an integer that is too long");
  }

  bytes(): Buffer {
    return this.#take(this.number());
  }

  skip(wire: number): void {
    if (wire === VARINT) this.integer();
    else if (wire === BYTES) this.bytes();
    else if (wire === FIXED64) this.#take(8);
    else if (wire === FIXED32) this.#take(4);
    else throw new TypeError(`a field that is encoded as ${wire}`);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError("a message that ends in the middle");
    return byte;
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError("a message that ends in the middle");
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}
