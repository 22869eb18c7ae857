import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";

/** One request on a connection that it shares with others, as routes know requests: those of `node:http`. */
export class SharedWatch {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;

  /** `leave` has the connection take no further requests. */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders & Head, leave: () => void) {
    const { ":method": method, ":path": url, ":scheme": _, ":authority": __, ...own } = headers;
    const response = new SharedResponse(stream, leave);
    // It came whole, and stands for itself where a request of HTTP/1.1 stands for its connection.
    const request = { method, url, headers: own, complete: true, socket: response };
    response.req = request;
    this.request = request as unknown as IncomingMessage;
    this.response = response as unknown as ServerResponse;
  }
}

interface Head {
  readonly ":method"?: string;
  readonly ":path"?: string;
  readonly ":scheme"?: string;
  readonly ":authority"?: string;
}

/** What of `ServerResponse` routes use, on one stream. */
class SharedResponse extends EventEmitter {
  readonly #stream: ServerHttp2Stream;
  readonly #leave: () => void;
  readonly #headers: OutgoingHttpHeaders = {};
  req: unknown;
  statusCode = 200;
  #ended = false;
  /** Of its own: others on the connection have theirs. */
  bytesWritten = 0;
  readonly bytesRead = 0;

  constructor(stream: ServerHttp2Stream, leave: () => void) {
    super();
    this.#stream = stream;
    this.#leave = leave;
    stream.on("drain", () => this.emit("drain"));
    stream.on("close", () => this.emit("close"));
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  get destroyed(): boolean {
    return this.#stream.closed || this.#stream.destroyed;
  }

  /** All of the answer is on its way. A stream that the peer has dropped says that of itself, too. */
  get writableFinished(): boolean {
    return this.#ended && this.#stream.writableFinished;
  }

  setHeader(name: string, value: string): this {
    this.#headers[name] = value;
    return this;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status;
    Object.assign(this.#headers, headers);
    return this;
  }

  flushHeaders(): void {
    if (this.headersSent || this.destroyed) return;
    const { connection, ...headers } = this.#headers;
    this.#stream.respond({ ...headers, ":status": this.statusCode });
    // Of HTTP/1.1; whoever asks again is to do so over another one.
    if (connection === "close") this.#leave();
  }

  write(chunk: Buffer): boolean {
    this.flushHeaders();
    if (this.destroyed) return true;
    this.bytesWritten += chunk.length;
    return this.#stream.write(chunk);
  }

  end(chunk?: Buffer): this {
    this.flushHeaders();
    if (this.destroyed) return this;
    this.bytesWritten += chunk?.length ?? 0;
    this.#ended = true;
    this.#stream.end(chunk);
    return this;
  }

  /** Cuts it, and tells the peer so. To `close` the stream would end it in order first, whatever code is given. */
  destroy(): this {
    this.#stream.destroy(CUT);
    return this;
  }
}

const CUT = new Error("the answer was cut short");
