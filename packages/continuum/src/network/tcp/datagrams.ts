/** How WireGuard's packets go over a connection: each behind its length. One of no length is a sign of life. */
const HEADER = 2;
/** What WireGuard's smallest packet has. */
const SHORTEST = 32;

export const SIGN_OF_LIFE = Buffer.alloc(HEADER);

export function datagramHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER);
  header.writeUInt16BE(length);
  return header;
}

/** Whether it looks like a packet of WireGuard: a type of four, and three zeros. Nothing else is carried. */
export function isWireguard(datagram: Buffer): boolean {
  const [type = 0, ...reserved] = datagram.subarray(0, 4);
  return datagram.length >= SHORTEST && type >= 1 && type <= 4 && reserved.every((byte) => byte === 0);
}

/**
 * Takes what comes out of a connection apart. It keeps no more than one packet, whatever comes, and touches each byte once: a peer may send them one
 * by one.
 */
export class DatagramReader {
  /** What is on its way: a header, or the packet behind it. */
  #part = Buffer.alloc(HEADER);
  #has = 0;
  #isPacket = false;

  /** The packets that are whole now, in order, signs of life left out. */
  *read(chunk: Buffer): Generator<Buffer> {
    let at = 0;
    while (at < chunk.length) {
      const end = this.#wholeAt(chunk, at);
      if (end !== undefined) {
        if (end > at + HEADER) yield chunk.subarray(at + HEADER, end);
        at = end;
        continue;
      }
      const taken = chunk.copy(this.#part, this.#has, at);
      at += taken;
      this.#has += taken;
      const packet = this.#has === this.#part.length ? this.#next() : undefined;
      if (packet !== undefined) yield packet;
    }
  }

  /** Where a packet ends that begins there and is all in the chunk, as nearly all are. */
  #wholeAt(chunk: Buffer, at: number): number | undefined {
    if (this.#isPacket || this.#has > 0 || chunk.length - at < HEADER) return undefined;
    const end = at + HEADER + chunk.readUInt16BE(at);
    return end <= chunk.length ? end : undefined;
  }

  /** Goes on from a part that is whole to what comes behind it. */
  #next(): Buffer | undefined {
    const part = this.#part;
    const length = this.#isPacket ? 0 : part.readUInt16BE();
    const packet = this.#isPacket ? part : undefined;
    this.#isPacket = length > 0;
    this.#part = Buffer.allocUnsafe(length > 0 ? length : HEADER);
    this.#has = 0;
    return packet;
  }
}
