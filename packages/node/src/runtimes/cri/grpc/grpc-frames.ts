/** One message as it travels: a byte for compression (none), four for the length, the message. */
export function frame(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX);
  return bytes;
}

const PREFIX = 5;

/** Puts messages together again from whatever pieces they come in. */
export class FrameReader {
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #held = 0;
  /** Bytes that are needed before there is anything to be read from the pieces. */
  #needed = PREFIX;

  /** @param limit a message longer than this is refused. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The messages that this piece completes. Throws a RangeError or TypeError for what is no such stream. */
  push(piece: Buffer): Buffer[] {
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held < this.#needed) return [];
    let bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    const messages: Buffer[] = [];
    for (;;) {
      if (bytes.length < PREFIX) {
        this.#needed = PREFIX;
        break;
      }
      if (bytes[0] !== 0) throw new TypeError("a compressed message, which was not asked for");
      const length = bytes.readUInt32BE(1);
      if (length > this.#limit) throw new RangeError(`a message of ${length} bytes`);
      this.#needed = PREFIX + length;
      if (bytes.length < this.#needed) break;
      messages.push(bytes.subarray(PREFIX, this.#needed));
      bytes = bytes.subarray(this.#needed);
    }
    this.#pieces = bytes.length === 0 ? [] : [bytes];
    this.#held = bytes.length;
    return messages;
  }

  /** Whether a message has begun and not ended. */
  get isPartial(): boolean {
    return this.#held > 0;
  }
}
