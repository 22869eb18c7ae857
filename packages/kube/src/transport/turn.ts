import type { Connection } from "./connection.ts";
import type { HttpHeaders } from "./http.ts";
import { requestHead } from "./request-head.ts";
import { ResponseReader, type ResponseSink } from "./response-reader.ts";
import type { AnswerHandler, Sending, WireRequest } from "./wire.ts";

/** What a turn needs of the pool that gave it. */
export interface TurnOwner {
  readonly host: string;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer was read to its end, and the connection may be used again for as long as given. */
  onFree(turn: Turn, connection: Connection, keepAliveMs: number): void;
  /** The turn ended otherwise, and so did its connection if it had one. */
  onOver(turn: Turn): void;
}

/** One request's turn on a connection: waiting for one, then using it alone until the answer's end. */
export class Turn implements Sending, ResponseSink {
  readonly #owner: TurnOwner;
  readonly #request: WireRequest;
  readonly #handler: AnswerHandler;
  readonly #reader: ResponseReader;
  #connection: Connection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #begun = false;
  #bodyTimer = false;
  #over = false;

  constructor(owner: TurnOwner, request: WireRequest, handler: AnswerHandler) {
    this.#owner = owner;
    this.#request = request;
    this.#handler = handler;
    this.#reader = new ResponseReader(request.method, this);
  }

  /** Sends the request over a connection that is open and idle. */
  begin(connection: Connection): void {
    const { headersTimeoutMs, body } = this.#request;
    let head: string;
    try {
      head = requestHead(this.#request, this.#owner.host, this.#owner.headers);
    } catch (error) {
      // The connection has seen nothing of it.
      this.#over = true;
      this.#owner.onFree(this, connection, Number.POSITIVE_INFINITY);
      this.#handler.onError(error as Error);
      return;
    }
    this.#connection = connection;
    this.#handler.onSent();
    if (headersTimeoutMs > 0) this.#timer = setTimeout(headersTimedOut, headersTimeoutMs, this, headersTimeoutMs);
    connection.write(head, body);
  }

  pause(): void {
    this.#connection?.stream.pause();
  }

  resume(): void {
    this.#connection?.stream.resume();
  }

  abort(): void {
    this.#finish();
  }

  fail(error: Error): void {
    if (this.#finish()) this.#handler.onError(error);
  }

  /** The next bytes of the answer. */
  receive(bytes: Buffer): void {
    if (this.#over) return;
    try {
      this.#reader.push(bytes);
    } catch (error) {
      this.fail(error as Error);
      return;
    }
    if (!this.#over) this.#watchBody();
    else if (this.#reader.done) this.#leave();
  }

  /** The server has ended its side. */
  receiveEnd(): void {
    if (this.#over) return;
    if (!this.#reader.end()) this.fail(reset("the other side closed the connection before the answer's end"));
    else this.#leave();
  }

  /** The connection is gone. */
  lost(error: Error | undefined): void {
    this.fail(error ?? reset("the connection was closed before the answer's end"));
  }

  onHead(statusCode: number, headers: HttpHeaders): void {
    this.#begun = true;
    if (!this.#over) this.#handler.onHead(statusCode, headers);
  }

  onData(chunk: Buffer): void {
    if (!this.#over) this.#handler.onData(chunk);
  }

  onEnd(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#handler.onEnd();
  }

  // Only for an answer that does not come all at once.
  #watchBody(): void {
    if (!this.#begun) return;
    if (this.#bodyTimer) {
      this.#timer?.refresh();
      return;
    }
    this.#bodyTimer = true;
    clearTimeout(this.#timer);
    const { bodyTimeoutMs } = this.#request;
    this.#timer = bodyTimeoutMs > 0 ? setTimeout(bodyTimedOut, bodyTimeoutMs, this, bodyTimeoutMs) : undefined;
  }

  /** After a whole answer; a connection that still has the request to write is of no use to another. */
  #leave(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    const { reusable, keepAliveSeconds } = this.#reader;
    if (reusable && connection.usable && connection.stream.writableLength === 0) {
      const ms =
        keepAliveSeconds === undefined ? Number.POSITIVE_INFINITY : keepAliveSeconds * 1000 - KEEP_ALIVE_MARGIN_MS;
      this.#owner.onFree(this, connection, ms);
    } else {
      connection.destroy();
      this.#owner.onOver(this);
    }
  }

  /** Nothing is told any more, and an unfinished answer takes its connection with it. False if all was over already. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#owner.onOver(this);
    return true;
  }
}

function headersTimedOut(turn: Turn, ms: number): void {
  turn.fail(timeout(`the answer did not begin within ${ms / 1000} s`));
}

function bodyTimedOut(turn: Turn, ms: number): void {
  turn.fail(timeout(`the answer paused for ${ms / 1000} s`));
}

function timeout(what: string): Error {
  return Object.assign(new Error(`Timeout: ${what}`), { code: "ETIMEDOUT" });
}

function reset(what: string): Error {
  return Object.assign(new Error(what), { code: "ECONNRESET" });
}

// The server's word to close may be on its way while we write.
const KEEP_ALIVE_MARGIN_MS = 1_000;
