import { Duplex } from "node:stream";
import type { ChannelSocket } from "@fjord/kube";

/**
 * One channel of a client's WebSocket as a stream. Reading stops all channels while this one's reader is behind. Clients
 * end channels, in the protocol's fifth version, but do not understand it when a server does.
 */
export class ChannelStream extends Duplex {
  readonly #socket: ChannelSocket;
  readonly #channel: number;
  #resume: (() => void) | undefined;
  #ended = false;

  constructor(socket: ChannelSocket, channel: number) {
    super({ allowHalfOpen: true, readableHighWaterMark: 256 * 1024 });
    this.#socket = socket;
    this.#channel = channel;
    this.on("error", () => {});
    socket.ended.then(() => this.destroy());
  }

  /** For the connection: bytes that arrived on the channel. */
  receive(data: Buffer): void {
    if (this.#ended || this.destroyed) return;
    if (!this.push(data)) this.#resume ??= this.#socket.pause();
  }

  /** For the connection: the other end sends nothing more on the channel. */
  receiveEnd(): void {
    if (this.#ended || this.destroyed) return;
    this.#ended = true;
    this.push(null);
  }

  override _read(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  override _write(data: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.send(this.#channel, data).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this._read();
    done(error);
  }
}
