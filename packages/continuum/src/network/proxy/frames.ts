/**
 * How the bytes of one connection go over a carrier: each piece behind its length, and a length of 0 for the end of that direction.
 * TLS connections are ended as a whole, and one that breaks must not be taken for one that has come to its end.
 */
const HEADER = 4;
/** A piece is passed on as it comes, so that this only tells who speaks something else. */
const LONGEST_PIECE = 16 * 1024 * 1024;

export const END_FRAME = Buffer.alloc(HEADER);

export function frameHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER);
  header.writeUInt32BE(length);
  return header;
}

/** Takes what comes out of a carrier apart. */
export class FrameReader {
  readonly #header = Buffer.allocUnsafe(HEADER);
  #headerBytes = 0;
  #left = 0;
  #ended = false;

  /** Whether the end has come. */
  get ended(): boolean {
    return this.#ended;
  }

  /** What a chunk has for the reader, in order. Throws where it is no frame, and at what comes behind the end. */
  *read(chunk: Buffer): Generator<Buffer> {
    let at = 0;
    while (at < chunk.length) {
      if (this.#ended) throw new Error("something came behind the end");
      if (this.#left > 0) {
        const piece = chunk.subarray(at, at + this.#left);
        at += piece.length;
        this.#left -= piece.length;
        yield piece;
        continue;
      }
      const taken = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER - this.#headerBytes);
      at += taken;
      this.#headerBytes += taken;
      if (this.#headerBytes < HEADER) return;
      this.#headerBytes = 0;
      this.#left = this.#header.readUInt32BE();
      if (this.#left > LONGEST_PIECE) throw new Error("a piece is longer than any");
      this.#ended = this.#left === 0;
    }
  }
}
