import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpHeaders } from "./http.ts";
import type { AnswerHandler, Sending, WireRequest } from "./wire.ts";

/** What a turn needs of the pool that gave it. */
export interface TurnOwner {
  readonly host: string;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer was read to its end, and the connection may be used again for as long as given. */
  onFree(turn: Turn, connection: Duplex, keepAliveMs: number): void;
  /** The turn ended otherwise, and so did its connection if it had one. */
  onOver(turn: Turn): void;
}

/** One request's turn on a connection: waiting for one, then using it alone until the answer's end. */
export class Turn implements Sending {
  readonly #owner: TurnOwner;
  readonly #request: WireRequest;
  readonly #handler: AnswerHandler;
  #connection: Duplex | undefined;
  #response: IncomingMessage | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;
  #answered = false;

  constructor(owner: TurnOwner, request: WireRequest, handler: AnswerHandler) {
    this.#owner = owner;
    this.#request = request;
    this.#handler = handler;
  }

  /** Sends the request over a connection that is open and idle. */
  begin(connection: Duplex): void {
    const { headersTimeoutMs, body } = this.#request;
    let sending: ClientRequest;
    try {
      sending = this.#open(connection);
    } catch (error) {
      // A path or header that cannot be sent: the connection has seen nothing of it.
      this.#over = true;
      this.#owner.onFree(this, connection, Number.POSITIVE_INFINITY);
      this.#handler.onError(error as Error);
      return;
    }
    this.#connection = connection;
    this.#handler.onSent();
    if (headersTimeoutMs > 0) this.#timer = setTimeout(headersTimedOut, headersTimeoutMs, this, headersTimeoutMs);
    sending.on("response", (response) => this.#begun(response));
    sending.on("error", (error) => this.fail(error));
    sending.on("close", () => this.#closed(connection));
    sending.end(body);
  }

  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  abort(): void {
    this.#finish();
  }

  fail(error: Error): void {
    if (this.#finish()) this.#handler.onError(error);
  }

  /** The connection is gone. */
  lost(): void {
    this.fail(Object.assign(new Error("the connection was closed before the answer's end"), { code: "ECONNRESET" }));
  }

  #open(connection: Duplex): ClientRequest {
    const { method, path } = this.#request;
    // As a plain import it would load all of fetch, by Node's own getters.
    const sending = process.getBuiltinModule("node:http").request({
      method,
      path,
      headers: this.#headerList(),
      createConnection: () => connection as Socket,
    });
    // Without an agent Node means to end the connection; this one goes back to the pool.
    sending.shouldKeepAlive = true;
    return sending;
  }

  // In this form Node writes them as they are; as an object it would look at each of them several times.
  #headerList(): string[] {
    const { headers, body, method } = this.#request;
    const list = ["connection", "keep-alive"];
    let host: string | undefined = this.#owner.host;
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined) continue;
      if (name.length === 4 && name.toLowerCase() === "host") host = undefined;
      if (typeof value === "string") list.push(name, value);
      else for (const one of value) list.push(name, one);
    }
    for (const name in this.#owner.headers) list.push(name, this.#owner.headers[name] as string);
    if (host !== undefined) list.push("host", host);
    if (body !== undefined) list.push("content-length", String(Buffer.byteLength(body)));
    else if (method !== "GET" && method !== "HEAD") list.push("content-length", "0");
    return list;
  }

  #begun(response: IncomingMessage): void {
    if (this.#over) return;
    this.#response = response;
    clearTimeout(this.#timer);
    const { bodyTimeoutMs } = this.#request;
    this.#timer = bodyTimeoutMs > 0 ? setTimeout(bodyTimedOut, bodyTimeoutMs, this, bodyTimeoutMs) : undefined;
    this.#handler.onHead(response.statusCode ?? 0, response.headers as HttpHeaders);
    response.on("data", (chunk: Buffer) => {
      if (this.#over) return;
      this.#timer?.refresh();
      this.#handler.onData(chunk);
    });
    response.on("error", (error) => this.fail(error));
    response.on("end", () => {
      if (this.#over) return;
      this.#over = true;
      this.#answered = true;
      clearTimeout(this.#timer);
      this.#handler.onEnd();
    });
  }

  /** Node is done with the connection: it is gone, or free. */
  #closed(connection: Duplex): void {
    if (!this.#over) this.lost();
    if (!this.#answered) return;
    if (connection.writable && connection.readable) {
      this.#owner.onFree(this, connection, keepAliveMs(this.#response?.headers));
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

/** For how long the server says that it keeps an idle connection, less the time that its word to close may take. */
function keepAliveMs(headers: IncomingMessage["headers"] | undefined): number {
  const seconds = /\btimeout=(\d+)/i.exec(String(headers?.["keep-alive"] ?? ""))?.[1];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS);
}

const KEEP_ALIVE_MARGIN_MS = 1_000;
