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

/** Takes what comes out of a connection apart. It keeps no more than one packet, whatever comes. */
export class DatagramReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The packets that are whole now, in order, signs of life left out. */
  *read(chunk: Buffer): Generator<Buffer> {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + bytes.readUInt16BE(at);
      if (end > bytes.length) break;
      if (end > at + HEADER) yield bytes.subarray(at + HEADER, end);
      at = end;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }
}
