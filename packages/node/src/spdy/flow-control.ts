import { SpdyProtocol } from "./errors.ts";

const DEFAULT_WINDOW = 64 * 1024;
const LARGEST_WINDOW = 2 ** 31 - 1;
/** The connection as a whole is given room again after so many bytes, whoever reads them. */
const SESSION_CREDIT = 8 * 1024 * 1024;

/** What has a window to send in. */
export interface Sender {
  sendWindow: number;
}

/** How much may be sent. Windows count only once the other end has spoken of them: programs in Go never do. */
export class SendWindows {
  /** What a new stream begins with. */
  initial = DEFAULT_WINDOW;
  #session = DEFAULT_WINDOW;
  #streamsLimited = false;
  #sessionLimited = false;

  allowance(stream: Sender): number {
    return Math.min(
      this.#streamsLimited ? stream.sendWindow : Number.POSITIVE_INFINITY,
      this.#sessionLimited ? this.#session : Number.POSITIVE_INFINITY,
    );
  }

  spend(stream: Sender, bytes: number): void {
    stream.sendWindow -= bytes;
    this.#session -= bytes;
  }

  /** A window for all streams, those that are open too. */
  setInitial(window: number, streams: Iterable<Sender>): void {
    if (window > LARGEST_WINDOW) throw new SpdyProtocol({ problem: `a window of ${window} bytes` });
    this.#streamsLimited = true;
    const change = window - this.initial;
    this.initial = window;
    for (const stream of streams) stream.sendWindow += change;
  }

  /** False where the window has become larger than there can be. */
  grow(stream: Sender, bytes: number): boolean {
    this.#streamsLimited = true;
    stream.sendWindow += bytes;
    return stream.sendWindow <= LARGEST_WINDOW;
  }

  growSession(bytes: number): void {
    this.#sessionLimited = true;
    this.#session = Math.min(LARGEST_WINDOW, this.#session + bytes);
  }
}

/** Gives the other end room again, for what was read. `send` gets a stream's number, 0 for the connection. */
export class ReceiveCredits {
  readonly #window: number;
  readonly #send: (stream: number, bytes: number) => void;
  readonly #credits = new Map<number, number>();

  constructor(window: number, send: (stream: number, bytes: number) => void) {
    this.#window = window;
    this.#send = send;
  }

  /** The streams bound what is kept, so that the connection need not. */
  begin(): void {
    this.#send(0, SESSION_CREDIT * 2);
  }

  received(bytes: number): void {
    this.#add(0, bytes, SESSION_CREDIT);
  }

  consumed(stream: number, bytes: number): void {
    this.#add(stream, bytes, this.#window / 2);
  }

  forget(stream: number): void {
    this.#credits.delete(stream);
  }

  #add(stream: number, bytes: number, threshold: number): void {
    const credit = (this.#credits.get(stream) ?? 0) + bytes;
    if (credit >= threshold) {
      this.#credits.delete(stream);
      this.#send(stream, credit);
    } else {
      this.#credits.set(stream, credit);
    }
  }
}
