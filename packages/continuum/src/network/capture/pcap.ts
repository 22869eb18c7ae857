import type { CapturedPacket } from "./captured-packet.ts";
import { InvalidCapture } from "./errors.ts";

const MAGIC = 0xa1b2c3d4;
/** "Linux cooked": a packet without a link layer of its own, with the direction that it has. Filters of all programs know it. */
const LINUX_SLL = 113;
const FILE_HEADER = 24;
const RECORD_HEADER = 16;
const COOKED_HEADER = 16;
const SENT_BY_US = 4;
const NO_DEVICE = 0xfffe;
/** Nobody sends a larger one. */
const LARGEST = 65_535 + COOKED_HEADER;

/** What a file begins with that tcpdump and Wireshark read. */
export function pcapHeader(): Buffer {
  const bytes = Buffer.alloc(FILE_HEADER);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.writeUInt16LE(2, 4);
  bytes.writeUInt16LE(4, 6);
  bytes.writeUInt32LE(LARGEST, 16);
  bytes.writeUInt32LE(LINUX_SLL, 20);
  return bytes;
}

/** One packet of such a file. */
export function pcapRecord({ at, direction, bytes, length }: CapturedPacket): Buffer {
  const record = Buffer.alloc(RECORD_HEADER + COOKED_HEADER + bytes.length);
  record.writeUInt32LE(Math.floor(at / 1e6), 0);
  record.writeUInt32LE(Math.floor(at % 1e6), 4);
  record.writeUInt32LE(COOKED_HEADER + bytes.length, 8);
  record.writeUInt32LE(COOKED_HEADER + length, 12);
  record.writeUInt16BE(direction === "out" ? SENT_BY_US : 0, RECORD_HEADER);
  record.writeUInt16BE(NO_DEVICE, RECORD_HEADER + 2);
  record.writeUInt16BE((bytes[0] ?? 0) >> 4 === 6 ? 0x86dd : 0x0800, RECORD_HEADER + 14);
  bytes.copy(record, RECORD_HEADER + COOKED_HEADER);
  return record;
}

/** Reads what the two above make, in pieces of any size. */
export class PcapReader {
  #rest: Buffer = Buffer.alloc(0);
  #isBegun = false;

  *read(chunk: Buffer): Generator<CapturedPacket> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#isBegun && bytes.length >= FILE_HEADER) {
      if (bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt32LE(20) !== LINUX_SLL)
        throw new InvalidCapture({ reason: "it does not begin as one" });
      this.#isBegun = true;
      bytes = bytes.subarray(FILE_HEADER);
    }
    while (this.#isBegun && bytes.length >= RECORD_HEADER) {
      const [there, whole] = [bytes.readUInt32LE(8), bytes.readUInt32LE(12)];
      if (there < COOKED_HEADER || there > LARGEST || whole < COOKED_HEADER)
        throw new InvalidCapture({ reason: `it has a packet of ${there} bytes` });
      if (bytes.length < RECORD_HEADER + there) break;
      const cooked = bytes.subarray(RECORD_HEADER, RECORD_HEADER + there);
      yield {
        at: bytes.readUInt32LE(0) * 1e6 + bytes.readUInt32LE(4),
        direction: cooked.readUInt16BE(0) === SENT_BY_US ? "out" : "in",
        bytes: Buffer.from(cooked.subarray(COOKED_HEADER)),
        length: whole - COOKED_HEADER,
      };
      bytes = bytes.subarray(RECORD_HEADER + there);
    }
    this.#rest = bytes;
  }
}
