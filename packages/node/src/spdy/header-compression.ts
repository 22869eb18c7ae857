import { createInflate, type Inflate } from "node:zlib";
import { DICTIONARY_ID, headerDictionary } from "./dictionary.ts";
import { SpdyProtocol } from "./errors.ts";

const STORED_LIMIT = 0xffff;

/**
 * Makes the sending half of a compressed header stream out of stored blocks: the few short headers here are not worth
 * the quarter megabyte that a compressor holds for each connection, and nothing can be guessed from their length.
 */
export class HeaderDeflater {
  #started = false;

  deflate(block: Buffer): Buffer {
    const parts: Buffer[] = [];
    if (!this.#started) {
      const header = Buffer.from([0x78, 0xbb, 0, 0, 0, 0]);
      header.writeUInt32BE(DICTIONARY_ID, 2);
      parts.push(header);
      this.#started = true;
    }
    for (let start = 0; start < block.length; start += STORED_LIMIT) {
      const piece = block.subarray(start, start + STORED_LIMIT);
      parts.push(storedHeader(piece.length), piece);
    }
    // The empty block makes a reader hand out all that came before it, as after a compressor's flush.
    parts.push(storedHeader(0));
    return Buffer.concat(parts);
  }
}

function storedHeader(length: number): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt16LE(length, 1);
  header.writeUInt16LE(length ^ 0xffff, 3);
  return header;
}

/** The receiving half. One block at a time, each no larger than the limit whatever was sent. */
export class HeaderInflater {
  readonly #limit: number;
  readonly #inflate: Inflate;
  #output: Buffer[] = [];
  #size = 0;
  #fail: (error: Error) => void = () => {};

  constructor(limit: number) {
    this.#limit = limit;
    this.#inflate = createInflate({ dictionary: headerDictionary(), chunkSize: 4096 });
    this.#inflate.on("data", (chunk: Buffer) => {
      this.#size += chunk.length;
      if (this.#size > this.#limit) this.#fail(tooLarge(this.#limit));
      else this.#output.push(chunk);
    });
    this.#inflate.on("error", (cause) => this.#fail(invalid(cause)));
    this.#inflate.on("end", () => this.#fail(invalid()));
  }

  inflate(block: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#output = [];
      this.#size = 0;
      this.#fail = (error) => {
        this.#inflate.destroy();
        reject(error);
      };
      if (this.#inflate.destroyed) return this.#fail(invalid());
      this.#inflate.write(block, (error) => {
        if (error) return this.#fail(invalid(error));
        while (this.#inflate.read() !== null);
        resolve(Buffer.concat(this.#output));
      });
    });
  }

  close(): void {
    this.#inflate.destroy();
  }
}

function invalid(cause?: Error): Error {
  return new SpdyProtocol({ problem: "headers cannot be decompressed" }, { cause });
}

function tooLarge(limit: number): Error {
  return new SpdyProtocol({ problem: `headers are larger than ${limit} bytes once decompressed` });
}
