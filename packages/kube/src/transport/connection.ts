import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Turn } from "./turn.ts";

/** A connection of a pool, and whose turn it is on it. */
export class Connection {
  readonly stream: Duplex;
  turn: Turn | undefined;
  /** While it is idle: since when, and how long it is kept, by `performance.now()`. */
  idleSince = 0;
  idleUntil = 0;
  #error: Error | undefined;
  readonly #listeners: Readonly<Record<string, (bytes: Buffer) => void>>;

  constructor(stream: Duplex, onGone: (connection: Connection) => void) {
    this.stream = stream;
    stream.on("error", (error) => {
      this.#error = error;
    });
    this.#listeners = {
      close: () => {
        const { turn } = this;
        this.turn = undefined;
        onGone(this);
        turn?.lost(this.#error);
      },
      end: () => {
        this.turn?.receiveEnd();
        stream.destroy();
      },
      data: (bytes: Buffer) => {
        // Bytes that nobody asked for: the next request must not take them for its answer.
        if (this.turn === undefined) stream.destroy();
        else this.turn.receive(bytes);
      },
    };
    for (const [event, listener] of Object.entries(this.#listeners)) stream.on(event, listener);
  }

  /** Gives the stream to somebody else, who listens to it at once. */
  handOver(): Duplex {
    for (const [event, listener] of Object.entries(this.#listeners)) this.stream.off(event, listener);
    return this.stream;
  }

  get usable(): boolean {
    return this.stream.writable && this.stream.readable;
  }

  destroy(): void {
    this.stream.destroy();
  }

  write(head: string, body: string | Uint8Array | undefined): void {
    if (body === undefined) this.stream.write(head, "latin1");
    else if (typeof body === "string" && !NOT_ASCII.test(head)) this.stream.write(head + body);
    else {
      this.stream.cork();
      this.stream.write(head, "latin1");
      this.stream.write(body);
      this.stream.uncork();
    }
  }

  /** An idle connection must not keep the process alive; one that a caller made may know nothing of this. */
  keepProcess(keep: boolean): void {
    const socket = this.stream as Partial<Socket>;
    if (keep) socket.ref?.();
    else socket.unref?.();
  }
}

const NOT_ASCII = /[\x80-\xff]/;
