import { type Clock, systemClock } from "@fjord/base";
import type { RawData, WebSocket } from "ws";

/** Names the channel that ends, in the protocol's fifth version. */
const closeChannel = 255;
const frameLimit = 32 * 1024;
const bufferLimit = 256 * 1024;
const silentPings = 4;
const goodbyeMs = 5_000;

export interface ChannelSocketOptions {
  clock?: Clock;
  pingIntervalMs?: number;
  /** Frames without content, which servers send to say that a channel is there, are left out. */
  onFrame(channel: number, data: Buffer): void;
}

/** How a connection ended: cleanly, or with a reason. */
export interface Ending {
  /** Absent: the other side said goodbye. */
  readonly problem?: string;
  readonly cause?: Error;
}

/** Several byte channels over one WebSocket, as Kubernetes' channel protocols have them, with back-pressure both ways. */
export class ChannelSocket {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #pingIntervalMs: number;
  readonly #waiting: (() => void)[] = [];
  #pauses = 0;
  #missed = 0;
  #stopPing: () => void = () => {};
  #stopGoodbye: () => void = () => {};
  /** Resolves when the connection is gone; never rejects. */
  readonly ended: Promise<Ending>;

  constructor(socket: WebSocket, options: ChannelSocketOptions) {
    this.#socket = socket;
    this.#clock = options.clock ?? systemClock;
    this.#pingIntervalMs = options.pingIntervalMs ?? 15_000;
    this.ended = new Promise((resolve) => {
      let cause: Error | undefined;
      socket.on("error", (error) => {
        cause ??= error;
        // Nothing that comes after a breach of the protocol means anything, a goodbye neither.
        socket.terminate();
      });
      socket.on("close", (code, reason) => {
        this.#stopPing();
        this.#stopGoodbye();
        this.#wake();
        resolve(ending(code, reason.toString("utf8"), this.#silent, cause));
      });
    });
    socket.on("message", (message) => {
      this.#missed = 0;
      const frame = bytesOf(message);
      if (frame.length > 1) options.onFrame(frame[0] ?? 0, frame.subarray(1));
    });
    socket.on("pong", () => {
      this.#missed = 0;
    });
    socket.on("ping", (data) => {
      // A peer that asks and does not read the answers would have us keep them all.
      if (socket.readyState === socket.OPEN && socket.bufferedAmount <= bufferLimit) socket.pong(data);
    });
    this.#schedulePing();
    socket.resume();
  }

  get #silent(): boolean {
    return this.#missed >= silentPings;
  }

  /** Whether one channel can end while the others go on. */
  get canCloseChannels(): boolean {
    return this.#socket.protocol.startsWith("v5.");
  }

  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  /** Sends bytes, and resolves when there is room for more, or when the connection is gone and nothing is sent. */
  async send(channel: number, data: Uint8Array): Promise<void> {
    for (let start = 0; start < data.length; start += frameLimit) {
      this.#sendFrame(channel, data.subarray(start, start + frameLimit));
      await this.#room();
    }
  }

  /** Tells the other side that nothing more comes on this channel. */
  endChannel(channel: number): void {
    if (this.canCloseChannels) this.#sendFrame(closeChannel, Uint8Array.of(channel));
  }

  /** Stops reading until the function returned is called. */
  pause(): () => void {
    if (this.#pauses++ === 0) this.#socket.pause();
    let resumed = false;
    return () => {
      if (resumed) return;
      resumed = true;
      // No answer to a ping could be read meanwhile.
      this.#missed = 0;
      if (--this.#pauses === 0) this.#socket.resume();
    };
  }

  /** Says goodbye and lets what is under way arrive, within reason. */
  close(): void {
    this.#socket.close(1000);
    this.#cutLater();
  }

  /** Cuts the connection. */
  terminate(): void {
    this.#socket.terminate();
  }

  #cutLater(): void {
    this.#stopGoodbye();
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    this.#stopGoodbye = this.#clock.after(goodbyeMs, () => {
      if (this.isPaused) this.#cutLater();
      else this.terminate();
    });
  }

  #sendFrame(channel: number, data: Uint8Array): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const frame = Buffer.allocUnsafe(data.length + 1);
    frame[0] = channel;
    frame.set(data, 1);
    this.#socket.send(frame, { binary: true }, () => {
      if (this.#socket.bufferedAmount <= bufferLimit) this.#wake();
    });
  }

  async #room(): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) await this.ended;
    else if (this.#socket.bufferedAmount > bufferLimit)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #schedulePing(): void {
    this.#stopPing = this.#clock.after(this.#pingIntervalMs, () => {
      if (this.#silent) return this.terminate();
      if (!this.isPaused && this.#socket.readyState === this.#socket.OPEN) {
        this.#missed++;
        this.#socket.ping();
      }
      this.#schedulePing();
    });
  }
}

function ending(code: number, reason: string, silent: boolean, cause: Error | undefined): Ending {
  if (silent) return { problem: "the server fell silent" };
  if (cause !== undefined) return { problem: cause.message, cause };
  // 1005: a goodbye without a code.
  if (code === 1000 || code === 1005) return {};
  if (code === 1006) return { problem: "the connection was cut" };
  return { problem: `the server closed with code ${code}${reason === "" ? "" : `: ${reason}`}` };
}

function bytesOf(message: RawData): Buffer {
  if (Buffer.isBuffer(message)) return message;
  return Array.isArray(message) ? Buffer.concat(message) : Buffer.from(message);
}
