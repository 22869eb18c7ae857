/** Writes the few parts of ASN.1 DER that certificates and requests for them are made of. */
export const der = {
  sequence: (...parts: Uint8Array[]) => tagged(0x30, Buffer.concat(parts)),
  set: (...parts: Uint8Array[]) => tagged(0x31, Buffer.concat(parts)),
  integer: (bytes: Uint8Array) => tagged(0x02, unsigned(bytes)),
  boolean: (value: boolean) => tagged(0x01, Buffer.from([value ? 0xff : 0])),
  objectId: (dotted: string) => tagged(0x06, objectIdBytes(dotted)),
  utf8: (text: string) => tagged(0x0c, Buffer.from(text, "utf8")),
  octets: (bytes: Uint8Array) => tagged(0x04, bytes),
  bits: (bytes: Uint8Array, unused = 0) => tagged(0x03, Buffer.concat([Buffer.from([unused]), bytes])),
  /** A time as it has to be written: with two digits for the year until 2049. */
  time: (ms: number) => {
    const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
    return digits < "2050" ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
  },
  /** `[n]` around other parts. */
  context: (number: number, ...parts: Uint8Array[]) => tagged(0xa0 | number, Buffer.concat(parts)),
  /** `[n]` instead of a value's own tag. */
  implicit: (number: number, bytes: Uint8Array) => tagged(0x80 | number, bytes),
};

function tagged(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthBytes(content.length), content]);
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

/** A leading one would be read as a sign. */
function unsigned(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const trimmed = bytes.subarray(start);
  return (trimmed[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed;
}

function objectIdBytes(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return Buffer.from([first * 40 + second, ...rest.flatMap(base128)]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift(0x80 | (left & 0x7f));
  return bytes;
}

export function pem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
