import type { Duplex } from "node:stream";
import * as wire from "./frames.ts";
import { HeaderDeflater } from "./header-compression.ts";
import { encodeHeaders, type SpdyHeaders } from "./headers.ts";

/** Answers to a peer that does not read them are dropped beyond this. */
const ANSWER_LIMIT = 256 * 1024;

/** Writes frames to a transport. What can no longer be sent is dropped. */
export class FrameWriter {
  readonly #transport: Duplex;
  readonly #onWrite: () => void;
  readonly #deflater = new HeaderDeflater();

  constructor(transport: Duplex, onWrite: () => void) {
    this.#transport = transport;
    this.#onWrite = onWrite;
  }

  synStream(id: number, headers: SpdyHeaders): void {
    const block = this.#deflater.deflate(encodeHeaders(headers));
    this.#write(wire.encodeControl(wire.frameType.synStream, 0, wire.numbers(id, 0), Buffer.alloc(2), block));
  }

  synReply(id: number, headers: SpdyHeaders): void {
    const block = this.#deflater.deflate(encodeHeaders(headers));
    this.#write(wire.encodeControl(wire.frameType.synReply, 0, wire.numbers(id), block));
  }

  settings(window: number): void {
    this.#write(wire.encodeSettings(new Map([[wire.INITIAL_WINDOW_SETTING, window]])));
  }

  windowUpdate(id: number, bytes: number): void {
    this.#write(wire.encodeControl(wire.frameType.windowUpdate, 0, wire.numbers(id, bytes)));
  }

  ping(id: number): void {
    this.#write(wire.encodeControl(wire.frameType.ping, 0, wire.numbers(id)));
  }

  /** The answer to the other end's. */
  pong(id: number): void {
    if (this.#transport.writableLength <= ANSWER_LIMIT) this.ping(id);
  }

  reset(id: number, status: number): void {
    this.#write(wire.encodeControl(wire.frameType.rstStream, 0, wire.numbers(id, status)));
  }

  /** The answer to what the other end should not have opened. */
  refuse(id: number, status: number): void {
    if (this.#transport.writableLength <= ANSWER_LIMIT) this.reset(id, status);
  }

  goAway(last: number, status: number): void {
    this.#write(wire.encodeControl(wire.frameType.goAway, 0, wire.numbers(last, status)));
  }

  /** `done` is called when it was sent, or never will be. */
  data(id: number, data: Buffer, fin: boolean, done: () => void): void {
    if (!this.#transport.writable) {
      done();
      return;
    }
    this.#onWrite();
    const header = wire.encodeDataHeader(id, data.length, fin);
    if (data.length === 0) {
      this.#transport.write(header, done);
      return;
    }
    this.#transport.cork();
    this.#transport.write(header);
    this.#transport.write(data, done);
    this.#transport.uncork();
  }

  #write(frame: Buffer): void {
    if (!this.#transport.writable) return;
    this.#onWrite();
    this.#transport.write(frame);
  }
}
