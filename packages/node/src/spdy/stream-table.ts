import { SpdyConnectionClosed, SpdyProtocol } from "./errors.ts";
import type { SpdyStream } from "./spdy-stream.ts";

const MOST = 0x7fffffff;

/** The streams of a connection by their numbers: odd ones are opened by the client, even ones by the server. */
export class StreamTable {
  readonly #streams = new Map<number, SpdyStream>();
  #next: number;
  #lastRemote = 0;
  #incoming = 0;

  constructor(role: "client" | "server") {
    this.#next = role === "client" ? 1 : 2;
  }

  /** As it is when it is asked for: streams may go while it is walked through. */
  all(): readonly SpdyStream[] {
    return [...this.#streams.values()];
  }

  get(id: number): SpdyStream | undefined {
    return this.#streams.get(id);
  }

  has(id: number): boolean {
    return this.#streams.has(id);
  }

  /** How many of the other end's are open. */
  get incoming(): number {
    return this.#incoming;
  }

  /** The last that the other end has opened. */
  get lastRemote(): number {
    return this.#lastRemote;
  }

  /** Whether a number, of a stream or a ping, is one of this end's. */
  isOurs(id: number): boolean {
    return id % 2 === this.#next % 2;
  }

  /** Whether there is, or was, such a stream. */
  wasOpened(id: number): boolean {
    return this.isOurs(id) ? id < this.#next : id <= this.#lastRemote;
  }

  /** The number for another stream of this end's. */
  nextId(): number {
    const id = this.#next;
    if (id > MOST) throw new SpdyConnectionClosed({ reason: "it has no numbers left for streams" });
    this.#next += 2;
    return id;
  }

  /** Notes a number that the other end has taken; numbers only grow. */
  noteRemote(id: number): void {
    if (id === 0 || this.isOurs(id) || id <= this.#lastRemote)
      throw new SpdyProtocol({ problem: `stream ${id} cannot be opened` });
    this.#lastRemote = id;
  }

  add(stream: SpdyStream): void {
    this.#streams.set(stream.id, stream);
    if (!this.isOurs(stream.id)) this.#incoming++;
  }

  forget({ id }: SpdyStream): void {
    if (this.#streams.delete(id) && !this.isOurs(id)) this.#incoming--;
  }
}
