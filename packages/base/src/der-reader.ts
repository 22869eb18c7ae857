import { defineError } from "./errors.ts";

export const MalformedDer = defineError(
  "MALFORMED_DER",
  "cannot read the certificate or request: {problem}",
  "Look at the file with `openssl asn1parse`: it is cut off, or no DER at all.",
);

/** One value of ASN.1 DER. Its bytes are a view of what was read. */
export class DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** With tag and length: what signatures are over. */
  readonly raw: Buffer;

  constructor(tag: number, content: Buffer, raw: Buffer) {
    this.tag = tag;
    this.content = content;
    this.raw = raw;
  }

  /** The values inside; throws `MalformedDer` where it is no sequence of values. */
  get children(): DerValue[] {
    const values: DerValue[] = [];
    for (let at = 0; at < this.content.length; ) {
      const value = readAt(this.content, at);
      values.push(value);
      at += value.raw.length;
    }
    return values;
  }

  /** The child at `index`; throws where there is none. */
  child(index: number): DerValue {
    const child = this.children[index];
    if (child === undefined) throw new MalformedDer({ problem: `there is no part ${index}` });
    return child;
  }

  /** Of text in any of the usual forms. */
  get text(): string {
    // BMPString: two bytes a character, the higher one first.
    if (this.tag === 0x1e) return Buffer.from(this.content).swap16().toString("utf16le");
    return this.content.toString(this.tag === 0x14 ? "latin1" : "utf8");
  }

  /** Of an object identifier: `2.5.4.3`. */
  get objectId(): string {
    const numbers: number[] = [];
    let value = 0;
    for (const byte of this.content) {
      value = value * 128 + (byte & 0x7f);
      if (byte >= 0x80) continue;
      numbers.push(value);
      value = 0;
    }
    const [first = 0, ...rest] = numbers;
    const top = Math.min(2, Math.floor(first / 40));
    return [top, first - top * 40, ...rest].join(".");
  }

  /** Of a bit string, without the leading count of unused bits. */
  get bits(): Buffer {
    return this.content.subarray(1);
  }
}

/** Reads exactly one value; throws `MalformedDer` for anything else. */
export function readDer(bytes: Uint8Array): DerValue {
  const value = readAt(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0);
  if (value.raw.length !== bytes.length) throw new MalformedDer({ problem: "there is more after its end" });
  return value;
}

function readAt(bytes: Buffer, start: number): DerValue {
  const tag = bytes[start];
  const first = bytes[start + 1];
  if (tag === undefined || first === undefined) throw new MalformedDer({ problem: "it ends too early" });
  let length = first;
  let at = start + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    // Four bytes are more than anything that is read here; none would be the indefinite form, which DER has not.
    if (count === 0 || count > 4) throw new MalformedDer({ problem: "a length is written wrongly" });
    if (at + count > bytes.length) throw new MalformedDer({ problem: "it ends too early" });
    length = bytes.readUIntBE(at, count);
    at += count;
  }
  if (at + length > bytes.length) throw new MalformedDer({ problem: "it ends too early" });
  return new DerValue(tag, bytes.subarray(at, at + length), bytes.subarray(start, at + length));
}

/** The bytes of the first PEM block with this label; undefined where there is none. */
export function unpem(label: string, text: string): Buffer | undefined {
  const begin = `-----BEGIN ${label}-----`;
  const start = text.indexOf(begin);
  if (start === -1) return undefined;
  const end = text.indexOf(`-----END ${label}-----`, start);
  if (end === -1) return undefined;
  return Buffer.from(text.slice(start + begin.length, end), "base64");
}
