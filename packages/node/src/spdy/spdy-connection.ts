import type { Duplex } from "node:stream";
import { type Clock, describeError, systemClock } from "@fjord/base";
import { Arrivals } from "./arrivals.ts";
import { SpdyConnectionClosed, SpdyProtocol } from "./errors.ts";
import { ReceiveCredits, SendWindows } from "./flow-control.ts";
import { FrameSplitter, isData } from "./frame-splitter.ts";
import { FrameWriter } from "./frame-writer.ts";
import * as wire from "./frames.ts";
import { HeaderInflater } from "./header-compression.ts";
import { decodeHeaders, type SpdyHeaders } from "./headers.ts";
import { IdleWatch } from "./idle-watch.ts";
import { DEFAULT_LIMITS, type SpdyLimits, type SpdyOptions } from "./spdy-options.ts";
import { SpdyStream, type StreamLink } from "./spdy-stream.ts";
import { StreamTable } from "./stream-table.ts";

/** How often it is looked whether an end that is not read is still there. */
const LOOK_MS = 5000;

/**
 * SPDY/3.1 over any byte stream. Programs written in Go neither announce windows nor heed them, so that a window
 * limits what is sent only once the other end has spoken of one; and what arrives beyond ours stops the connection.
 */
export class SpdyConnection {
  /** Resolves when the connection is gone, with what broke it if anything did; never rejects. */
  readonly closed: Promise<Error | undefined>;
  readonly #transport: Duplex;
  readonly #arrivals: Arrivals;
  readonly #hungUp: Promise<void>;
  readonly #options: SpdyOptions;
  readonly #limits: SpdyLimits;
  readonly #clock: Clock;
  readonly #streams: StreamTable;
  readonly #idle: IdleWatch;
  readonly #windows = new SendWindows();
  readonly #credits: ReceiveCredits | undefined;
  readonly #writer: FrameWriter;
  readonly #inflater: HeaderInflater;
  readonly #link: StreamLink;
  #goneAway = false;
  #closing = false;
  #failure: Error | undefined;
  #nextPing: number;
  #ran: Promise<void> = Promise.resolve();
  #cut: () => void = () => {};
  #destroyed = false;
  #stopLinger: () => void = () => {};

  constructor(transport: Duplex, options: SpdyOptions) {
    this.#transport = transport;
    this.#arrivals = new Arrivals(transport);
    this.#hungUp = new Promise((resolve) => transport.once("close", resolve));
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#inflater = new HeaderInflater(this.#limits.headerBlock);
    this.#streams = new StreamTable(options.role);
    this.#nextPing = options.role === "client" ? 1 : 2;
    this.#idle = new IdleWatch(this.#clock);
    this.#writer = new FrameWriter(transport, () => this.#idle.touch());
    if (options.announceWindows ?? true)
      this.#credits = new ReceiveCredits(this.#limits.window, (id, bytes) => this.#writer.windowUpdate(id, bytes));
    this.#link = this.#makeLink();
    this.closed = new Promise((resolve) => {
      transport.on("error", (error) => {
        if (!this.#closing) this.#failure ??= error;
      });
      const gone = () => {
        this.#lost();
        resolve(this.#failure);
      };
      this.#cut = gone;
      transport.once("close", () => {
        // Its last bytes may still wait to be handed to their streams.
        if (this.#destroyed) gone();
        else this.#ran.then(gone);
      });
    });
    if (this.#credits !== undefined) {
      this.#writer.settings(this.#limits.window);
      this.#credits.begin();
    }
    this.#watchIdle();
    this.#ran = this.#run();
  }

  get streams(): readonly SpdyStream[] {
    return this.#streams.all();
  }

  /** Opens a stream; what is written to it is sent once the other end has accepted it. */
  open(headers: SpdyHeaders): SpdyStream {
    if (this.#closing || this.#goneAway || this.#transport.destroyed)
      throw new SpdyConnectionClosed({ reason: "it was closed" });
    const id = this.#streams.nextId();
    const stream = new SpdyStream(this.#link, id, headers, false, this.#windows.initial);
    this.#streams.add(stream);
    this.#writer.synStream(id, headers);
    return stream;
  }

  /** Asks the other end for a sign of life; a connection that is gone is found out by that. */
  ping(): void {
    this.#writer.ping(this.#nextPing);
    this.#nextPing = this.#nextPing > 0x7ffffff0 ? this.#nextPing % 2 || 2 : this.#nextPing + 2;
  }

  /** Gives up the streams that are open, says goodbye after all that was sent, and resolves when the connection is gone. */
  async close(): Promise<void> {
    this.#sayGoodbye(wire.goAwayStatus.ok);
    await this.closed;
  }

  /** Cuts the connection. */
  destroy(error?: Error): void {
    this.#failure ??= error;
    this.#destroyed = true;
    if (this.#transport.closed) this.#cut();
    else this.#transport.destroy();
  }

  async #run(): Promise<void> {
    const splitter = new FrameSplitter(this.#limits.controlFrame);
    try {
      for await (const chunk of this.#arrivals) {
        this.#idle.touch();
        for (const piece of splitter.push(chunk)) {
          if (isData(piece)) await this.#onData(piece.stream, piece.data, piece.fin);
          else await this.#onControl(piece);
        }
      }
    } catch (error) {
      this.#onBreach(error instanceof Error ? error : new SpdyProtocol({ problem: describeError(error) }));
    }
    // The other end sends nothing more, and would not answer.
    this.#failStreams();
    this.#transport.end();
    this.#linger();
  }

  #onBreach(error: Error): void {
    if (!this.#closing) this.#failure ??= error;
    if (this.#transport.destroyed) return;
    this.#failStreams();
    this.#sayGoodbye(wire.goAwayStatus.protocolError);
    this.#transport.end(() => this.#transport.destroy());
  }

  async #onData(id: number, data: Buffer, fin: boolean): Promise<void> {
    this.#credits?.received(data.length);
    // What comes after our goodbye is read only so that ours arrives.
    if (this.#closing) return;
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#onUnknown(id);
    if (!stream.receive(data, fin)) {
      this.#writer.reset(id, wire.resetStatus.streamAlreadyClosed);
      stream.failReset(wire.resetStatus.streamAlreadyClosed);
      this.#forget(stream);
    }
    if (stream.isOverfull && !this.#transport.closed) await this.#waitFor(stream);
  }

  /** Nobody notices that the other end has gone while nothing is read, unless something is sent. */
  async #waitFor(stream: SpdyStream): Promise<void> {
    let stop = () => {};
    const again = () => {
      stop = this.#clock.after(LOOK_MS, () => {
        if (this.#credits !== undefined) this.ping();
        again();
      });
    };
    again();
    await Promise.race([stream.room(), this.#hungUp]);
    stop();
    this.#idle.touch();
  }

  #onUnknown(id: number): void {
    // Where we gave it up, what was under way then is no mistake.
    if (!this.#streams.wasOpened(id))
      throw new SpdyProtocol({ problem: `data for stream ${id}, which was never opened` });
  }

  async #onControl(frame: wire.ControlFrame): Promise<void> {
    switch (frame.type) {
      case wire.frameType.synStream:
        return this.#onSynStream(frame, await this.#headers(frame, 10));
      case wire.frameType.synReply:
      case wire.frameType.headers:
        return this.#onReply(frame, await this.#headers(frame, 4));
      case wire.frameType.rstStream:
        return this.#onReset(wire.streamAt(frame), wire.numberAt(frame, 4));
      case wire.frameType.settings:
        return this.#onSettings(wire.decodeSettings(frame));
      case wire.frameType.ping:
        return this.#onPing(frame);
      case wire.frameType.goAway:
        return this.#onGoAway();
      case wire.frameType.windowUpdate:
        return this.#onWindowUpdate(wire.streamAt(frame), wire.streamAt(frame, 4));
    }
    // A frame of a kind that nobody knows is to be ignored.
  }

  async #headers(frame: wire.ControlFrame, offset: number): Promise<SpdyHeaders> {
    if (frame.payload.length < offset)
      throw new SpdyProtocol({ problem: `a frame of type ${frame.type} is too short` });
    return decodeHeaders(await this.#inflater.inflate(frame.payload.subarray(offset)));
  }

  #onSynStream(frame: wire.ControlFrame, headers: SpdyHeaders): void {
    const id = wire.streamAt(frame);
    this.#streams.noteRemote(id);
    if (this.#closing) return;
    const { onStream } = this.#options;
    if (onStream === undefined || this.#streams.incoming >= this.#limits.streams) {
      this.#writer.refuse(id, wire.resetStatus.refusedStream);
      return;
    }
    const stream = new SpdyStream(this.#link, id, headers, true, this.#windows.initial);
    this.#streams.add(stream);
    if ((frame.flags & wire.flag.fin) !== 0) stream.receive(Buffer.alloc(0), true);
    onStream(stream);
  }

  #onReply(frame: wire.ControlFrame, _headers: SpdyHeaders): void {
    const id = wire.streamAt(frame);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    if (frame.type === wire.frameType.synReply) {
      if (!this.#streams.isOurs(id)) throw new SpdyProtocol({ problem: `a reply to its own stream ${id}` });
      stream.opened();
    }
    if ((frame.flags & wire.flag.fin) !== 0) stream.receive(Buffer.alloc(0), true);
  }

  #onReset(id: number, status: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#forget(stream);
    stream.failReset(status);
  }

  #onSettings(settings: ReadonlyMap<number, number>): void {
    const window = settings.get(wire.INITIAL_WINDOW_SETTING);
    if (window === undefined) return;
    this.#windows.setInitial(window, this.#streams.all());
    this.#pumpAll();
  }

  #onPing(frame: wire.ControlFrame): void {
    const id = wire.numberAt(frame, 0);
    if (!this.#streams.isOurs(id)) this.#writer.pong(id);
  }

  #onGoAway(): void {
    this.#goneAway = true;
  }

  #onWindowUpdate(id: number, bytes: number): void {
    if (id === 0) {
      this.#windows.growSession(bytes);
      this.#pumpAll();
      return;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    if (this.#windows.grow(stream, bytes)) {
      stream.pump();
    } else {
      this.#writer.reset(id, wire.resetStatus.flowControlError);
      this.#forget(stream);
      stream.failReset(wire.resetStatus.flowControlError);
    }
  }

  #pumpAll(): void {
    for (const stream of this.#streams.all()) stream.pump();
  }

  #makeLink(): StreamLink {
    return {
      receiveWindow: this.#limits.window,
      allowance: (stream) => this.#windows.allowance(stream),
      data: (stream, data, fin, done) => {
        this.#windows.spend(stream, data.length);
        this.#writer.data(stream.id, data, fin, done);
      },
      reply: (stream, headers) => this.#writer.synReply(stream.id, headers),
      reset: (stream, status) => this.#writer.reset(stream.id, status),
      consumed: (stream, bytes) => {
        if (this.#streams.has(stream.id)) this.#credits?.consumed(stream.id, bytes);
      },
      done: (stream) => this.#forget(stream),
    };
  }

  #forget(stream: SpdyStream): void {
    this.#credits?.forget(stream.id);
    this.#streams.forget(stream);
  }

  #sayGoodbye(status: number): void {
    if (this.#closing) return;
    for (const stream of this.streams) stream.destroy();
    this.#closing = true;
    this.#writer.goAway(this.#streams.lastRemote, status);
    this.#transport.end();
    this.#linger();
  }

  /** Closing at once would make the kernel throw away what the other end has not read yet. */
  #linger(): void {
    this.#stopLinger();
    if (this.#transport.destroyed) return;
    this.#stopLinger = this.#clock.after(this.#options.lingerMs ?? 5000, () => this.#transport.destroy());
    // Ours is sent and theirs has ended: nothing is left to wait for.
    if (this.#transport.readableEnded && this.#transport.writableFinished) this.#transport.destroy();
  }

  #failStreams(): void {
    const reason = this.#failure === undefined ? "the other end has closed it" : describeError(this.#failure);
    for (const stream of this.streams) {
      this.#forget(stream);
      stream.fail(new SpdyConnectionClosed({ reason }, { cause: this.#failure }));
    }
  }

  #lost(): void {
    this.#closing = true;
    this.#idle.stop();
    this.#stopLinger();
    this.#inflater.close();
    this.#failStreams();
  }

  #watchIdle(): void {
    const { idleTimeoutMs } = this.#options;
    if (idleTimeoutMs === undefined) return;
    this.#idle.start(idleTimeoutMs, () =>
      this.destroy(new SpdyConnectionClosed({ reason: `nothing came or went for ${idleTimeoutMs} ms` })),
    );
  }
}
