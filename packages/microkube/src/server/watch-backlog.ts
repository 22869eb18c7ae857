import type { Socket } from "node:net";
import type { Clock } from "@fjord/base";
import type { ExchangeResponse } from "./exchange.ts";
import { unframed } from "./watch-frame.ts";
import type { Sender, WatchOutbox } from "./watch-outbox.ts";

/** What is given to a connection at once: it keeps an encrypted copy for each reader until that takes it. */
const AT_ONCE = 64 * 1024;
/** Whoever is so far behind, with what changes, and takes nothing for so long, is cut off: it lists again. */
const FAR_BEHIND = 1024 * 1024;
const LONGEST_STALL_MS = 5_000;
/** Whoever is so far behind is cut off at once. */
const TOO_FAR_BEHIND = 16 * 1024 * 1024;

/** A chunk, or how it is made once it can be sent. */
type Chunk = Buffer | { readonly size: number; readonly make: () => Buffer };

/**
 * What one watcher has still to be told. Chunks of changes are shared by all that watch, so that those who wait cost little;
 * only what a connection takes is given to it.
 */
export class WatchBacklog implements Sender {
  readonly #response: ExchangeResponse;
  readonly #outbox: WatchOutbox;
  readonly #clock: Clock;
  #chunks: Chunk[] = [];
  /** The next of them. */
  #at = 0;
  /** Of changes alone: what was there before is the store's own until it is sent. */
  #bytes = 0;
  /** Since when the connection takes nothing. */
  #stalledSince: number | undefined;
  #isEnding = false;
  #waiting: (() => void)[] = [];

  constructor(response: ExchangeResponse, { outbox, clock }: { outbox: WatchOutbox; clock: Clock }) {
    this.#response = response;
    this.#outbox = outbox;
    this.#clock = clock;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#put(chunk);
    if (this.#isLost()) this.cutOff();
  }

  /** What was there before the watch began, made when there is room for it. */
  addLater(size: number, make: () => Buffer): void {
    this.#put({ size, make });
  }

  /** Until there is not much that waits. */
  async room(): Promise<void> {
    while (this.#bytes > AT_ONCE && !this.#response.destroyed) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Sends what waits, as one, as far as the connection takes it: its turn has come. */
  flush(): void {
    const socket = this.#socket();
    if (this.#stalledSince !== undefined || this.#response.destroyed || socket === undefined) return;
    if (this.#isEmpty) return;
    this.#send(this.#take(), socket);
    if (socket.writableNeedDrain) this.#stall(socket);
    else if (this.#at < this.#chunks.length) this.#outbox.add(this);
    this.#settle();
  }

  /** Ends the answer once all is sent. */
  end(): void {
    this.#isEnding = true;
    this.flush();
    this.#settle();
    if (this.#isEmpty) return;
    this.#clock.after(LONGEST_STALL_MS, () => {
      if (!this.#isEmpty) this.cutOff();
    });
  }

  /** For a reader that is lost. */
  cutOff(): void {
    this.close();
    this.#response.destroy();
  }

  close(): void {
    this.#chunks = [];
    this.#at = 0;
    this.#bytes = 0;
    for (const go of this.#waiting.splice(0)) go();
  }

  get #isEmpty(): boolean {
    return this.#at >= this.#chunks.length;
  }

  #put(chunk: Chunk): void {
    if (this.#response.destroyed) return;
    // Without a connection of its own, for somebody in this process, all goes the plain way.
    if (this.#socket() === undefined) {
      this.#bytes = 0;
      this.#response.write(unframed(made(chunk)));
      return;
    }
    this.#chunks.push(chunk);
    if (this.#stalledSince === undefined) this.#outbox.add(this);
  }

  #socket(): Socket | undefined {
    const { socket, headersSent } = this.#response;
    return socket !== null && headersSent ? socket : undefined;
  }

  #take(): Buffer[] {
    const taken: Buffer[] = [];
    let size = 0;
    while (!this.#isEmpty && size < AT_ONCE) {
      const chunk = this.#chunks[this.#at++] as Chunk;
      const bytes = made(chunk);
      if (bytes === chunk) this.#bytes -= bytes.length;
      size += bytes.length;
      taken.push(bytes);
    }
    if (this.#isEmpty) this.#chunks = [];
    else this.#chunks = this.#at > 1_000 ? this.#chunks.slice(this.#at) : this.#chunks;
    if (this.#chunks.length === 0 || this.#at > 1_000) this.#at = 0;
    return taken;
  }

  #send(chunks: readonly Buffer[], socket: Socket): void {
    // Chunks are made once for all watchers, where the connection takes them.
    if (this.#response.chunkedEncoding) socket.write(this.#outbox.join(chunks));
    else for (const chunk of chunks) this.#response.write(unframed(chunk));
  }

  #stall(socket: Socket): void {
    this.#stalledSince = this.#clock.now();
    socket.once("drain", () => {
      this.#stalledSince = undefined;
      this.flush();
    });
  }

  #settle(): void {
    if (this.#bytes <= AT_ONCE) for (const go of this.#waiting.splice(0)) go();
    if (!this.#isEnding || !this.#isEmpty) return;
    this.#isEnding = false;
    this.#response.end();
  }

  /** Whether the reader takes nothing, so that what is still to be made for it would only pile up. */
  get isStalled(): boolean {
    return this.#stalledSince !== undefined;
  }

  #isLost(): boolean {
    if (this.#bytes > TOO_FAR_BEHIND) return true;
    if (this.#bytes <= FAR_BEHIND || this.#stalledSince === undefined) return false;
    return this.#clock.now() - this.#stalledSince > LONGEST_STALL_MS;
  }
}

function made(chunk: Chunk): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : chunk.make();
}
