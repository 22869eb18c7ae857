import type { Duplex } from "node:stream";

/** Bytes that may wait here before the transport is asked to wait. */
const ENOUGH = 64 * 1024;

/**
 * What a transport brings, in order and to its end. A stream that fails drops what it has received and nobody has taken
 * yet; here all that came before the failure is given out.
 */
export class Arrivals implements AsyncIterable<Buffer> {
  readonly #transport: Duplex;
  #waiting: Buffer[] = [];
  #size = 0;
  #over = false;
  #wake: () => void = () => {};

  constructor(transport: Duplex) {
    this.#transport = transport;
    transport.on("data", (chunk: Buffer) => {
      this.#waiting.push(chunk);
      this.#size += chunk.length;
      if (this.#size >= ENOUGH) transport.pause();
      this.#wake();
    });
    const over = () => {
      this.#over = true;
      this.#wake();
    };
    transport.once("end", over);
    transport.once("close", over);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        yield chunk;
        this.#size -= chunk.length;
        if (this.#size < ENOUGH) this.#transport.resume();
      } else if (this.#over) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
