import { Duplex } from "node:stream";
import { SpdyConnectionClosed, SpdyStreamReset } from "./errors.ts";
import { resetStatus } from "./frames.ts";
import type { SpdyHeaders } from "./headers.ts";

/** Bytes of a frame that we send. */
const MAX_DATA = 64 * 1024;

/** What a stream needs of its connection. */
export interface StreamLink {
  /** Bytes that this stream may receive before it must be read. */
  readonly receiveWindow: number;
  /** What may be sent now, on this stream and on the connection. */
  allowance(stream: SpdyStream): number;
  /** `done` is called when it was sent, or never will be. */
  data(stream: SpdyStream, data: Buffer, fin: boolean, done: () => void): void;
  reply(stream: SpdyStream, headers: SpdyHeaders): void;
  reset(stream: SpdyStream, status: number): void;
  /** Bytes that the receiver has taken. */
  consumed(stream: SpdyStream, bytes: number): void;
  /** Nothing more goes over the wire for it. */
  done(stream: SpdyStream): void;
}

/**
 * One stream of a connection, half-closed by `end`, given up by `destroy`. What arrived before the other end gave it up
 * can still be read; then it fails with `SpdyStreamReset`, which needs no handler.
 */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Resolves when the other end has accepted the stream; rejects when it has not. */
  readonly accepted: Promise<void>;
  /** What the other end allows to be sent, where it says; kept by the connection. */
  sendWindow: number;
  readonly #link: StreamLink;
  readonly #incoming: boolean;
  #open: boolean;
  #accept: () => void = () => {};
  #refuse: (error: Error) => void = () => {};
  #queue: Buffer[] = [];
  #queued = 0;
  #wanting = false;
  #localEnd = false;
  #remoteEnd = false;
  #failure: Error | undefined;
  #sending: { data: Buffer; done: (error?: Error | null) => void } | undefined;
  #waiting: (() => void)[] = [];

  constructor(link: StreamLink, id: number, headers: SpdyHeaders, incoming: boolean, sendWindow: number) {
    // Without a buffer of its own, `_read` tells that all was taken.
    super({ readableHighWaterMark: 0, writableHighWaterMark: MAX_DATA, allowHalfOpen: true });
    this.id = id;
    this.headers = headers;
    this.sendWindow = sendWindow;
    this.#link = link;
    this.#incoming = incoming;
    this.#open = false;
    this.accepted = new Promise((resolve, reject) => {
      this.#accept = resolve;
      this.#refuse = reject;
    });
    this.accepted.catch(() => {});
    // The other end may give it up at any time: that must not end the process where nobody listens.
    this.on("error", () => {});
    this.once("end", () => {
      if (this.#failure !== undefined && !this.bothEnded) this.destroy(this.#failure);
    });
  }

  /** Takes a stream that the other end has opened; before, nothing is sent. */
  accept(headers: SpdyHeaders = {}): void {
    if (!this.#incoming || this.#open || this.destroyed) return;
    this.#link.reply(this, headers);
    this.opened();
  }

  /** Refuses a stream that the other end has opened. */
  refuse(): void {
    this.#give(resetStatus.refusedStream);
    this.destroy();
  }

  /** Whether more has arrived than was agreed. */
  get isOverfull(): boolean {
    return this.#queued > this.#link.receiveWindow;
  }

  get bothEnded(): boolean {
    return this.#localEnd && this.#remoteEnd;
  }

  /** Resolves once it is no longer overfull. */
  room(): Promise<void> {
    if (!this.isOverfull || this.destroyed) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** For the connection: the other end has accepted the stream. */
  opened(): void {
    if (this.#open) return;
    this.#open = true;
    this.#accept();
    this.pump();
  }

  /** For the connection: bytes that arrived. False where none were to be expected. */
  receive(data: Buffer, fin: boolean): boolean {
    if (this.#remoteEnd) return false;
    this.#remoteEnd = fin;
    if (this.destroyed) {
      this.#link.consumed(this, data.length);
    } else {
      if (data.length > 0) {
        this.#queue.push(data);
        this.#queued += data.length;
      }
      if (this.#wanting) this.#deliver();
    }
    if (this.bothEnded) this.#link.done(this);
    return true;
  }

  /** For the connection: nothing more can be sent or received. */
  fail(error: Error): void {
    this.#refuse(error);
    if (this.destroyed || this.#failure !== undefined) return;
    this.#failure = error;
    if (this.bothEnded) return;
    const sending = this.#sending;
    this.#sending = undefined;
    const unread = this.#queued > 0 || this.readableLength > 0 || (this.#remoteEnd && !this.readableEnded);
    if (!unread) this.destroy(error);
    // A failed write would take the bytes along that are still to be read.
    sending?.done();
    if (unread && this.#wanting) this.#deliver();
  }

  failReset(status: number): void {
    this.fail(new SpdyStreamReset({ id: this.id, status }));
  }

  /** For the connection: there may be room to send. */
  pump(): void {
    const sending = this.#sending;
    if (sending === undefined || !this.#open) return;
    const size = Math.min(sending.data.length, MAX_DATA, this.#link.allowance(this));
    if (size <= 0) return;
    const piece = sending.data.subarray(0, size);
    sending.data = sending.data.subarray(size);
    const last = sending.data.length === 0;
    if (last) this.#sending = undefined;
    // That the connection takes no more is told by its end, after all that it has brought was read.
    this.#link.data(this, piece, false, () => {
      if (last) sending.done();
      else this.pump();
    });
  }

  override _write(data: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#failure !== undefined || data.length === 0) {
      done();
      return;
    }
    this.#sending = { data, done };
    this.pump();
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#failure !== undefined) {
      done();
      return;
    }
    if (!this.#open) {
      this.accepted.then(() => this._final(done), done);
      return;
    }
    this.#localEnd = true;
    this.#link.data(this, Buffer.alloc(0), true, () => done());
    if (this.bothEnded) this.#link.done(this);
  }

  override _read(): void {
    this.#wanting = true;
    this.#deliver();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#give(resetStatus.cancel);
    this.#refuse(error ?? new SpdyConnectionClosed({ reason: "the stream was given up" }));
    const left = this.#queued;
    const sending = this.#sending;
    this.#sending = undefined;
    this.#queue = [];
    this.#queued = 0;
    if (left > 0) this.#link.consumed(this, left);
    this.#wake();
    done(error);
    sending?.done(error);
  }

  #deliver(): void {
    while (this.#wanting) {
      const data = this.#queue.shift();
      if (data === undefined) break;
      this.#queued -= data.length;
      this.#wanting = false;
      // May call `_read`, and with it this function, before it returns.
      if (this.push(data)) this.#wanting = true;
      this.#link.consumed(this, data.length);
    }
    if (!this.isOverfull) this.#wake();
    if (!this.#wanting || this.#queue.length > 0) return;
    if (this.#remoteEnd) this.push(null);
    else if (this.#failure !== undefined) this.destroy(this.#failure);
  }

  #give(status: number): void {
    if (!this.bothEnded && this.#failure === undefined) {
      this.#failure = new SpdyConnectionClosed({ reason: "the stream was given up" });
      this.#link.reset(this, status);
    }
    this.#link.done(this);
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
