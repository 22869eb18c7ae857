/** Reads the fields of one Protocol Buffers message. Throws an Error for what is none. */
export class ProtobufReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The next field's number and content: a number for varints and fixed ones, bytes for the rest. */
  next(): { field: number; value: bigint | Buffer; isFixed: boolean } | undefined {
    if (this.#at >= this.#bytes.length) return undefined;
    const key = Number(this.#varint());
    const field = Math.floor(key / 8);
    switch (key % 8) {
      case 0:
        return { field, value: this.#varint(), isFixed: false };
      case 1:
        return { field, value: this.#take(8), isFixed: true };
      case 2:
        return { field, value: this.#take(Number(this.#varint())), isFixed: false };
      case 5:
        return { field, value: this.#take(4), isFixed: true };
      default:
        throw new Error(`proto: illegal wireType ${key % 8}`);
    }
  }

  #varint(): bigint {
    // Most are short: no big arithmetic for them.
    const first = this.#byte();
    if (first < 0x80) return BigInt(first);
    let value = BigInt(first & 0x7f);
    for (let shift = 7n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error("proto: integer overflow");
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new Error("unexpected EOF");
    return byte;
  }

  #take(length: number): Buffer {
    if (!(length >= 0) || this.#at + length > this.#bytes.length) throw new Error("unexpected EOF");
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return part;
  }
}
