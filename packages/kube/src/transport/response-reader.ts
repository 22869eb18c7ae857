import type { HttpHeaders, HttpMethod } from "./http.ts";

/** Told what a reader finds. */
export interface ResponseSink {
  onHead(statusCode: number, headers: HttpHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
}

type State = "head" | "length" | "chunk size" | "chunk" | "chunk end" | "trailer" | "until close" | "done";

/** An API server's are below 2 KiB. */
const HEAD_LIMIT = 64 * 1024;
const CHUNK_LINE_LIMIT = 4 * 1024;

/** Reads one HTTP/1.1 response out of the bytes of a connection, however they are cut. Strict: what is odd is refused. */
export class ResponseReader {
  readonly #method: HttpMethod;
  readonly #sink: ResponseSink;
  #state: State = "head";
  /** The begin of a head or line whose end has not come yet. */
  #pending: Buffer | undefined;
  /** Bytes left of the body or chunk. */
  #left = 0;
  #trailerBytes = 0;
  /** Whether the connection can be used again after this. */
  reusable = true;
  /** For how long the server says that it keeps an idle connection. */
  keepAliveSeconds: number | undefined;

  constructor(method: HttpMethod, sink: ResponseSink) {
    this.#method = method;
    this.#sink = sink;
  }

  get done(): boolean {
    return this.#state === "done";
  }

  /** Takes the next bytes. Throws where they are not HTTP. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case "length":
        case "chunk":
          at = this.#body(bytes, at);
          break;
        case "head":
          at = this.#takeHead(bytes, at);
          break;
        case "until close":
          this.#sink.onData(at === 0 ? bytes : bytes.subarray(at));
          return;
        case "done":
          // Nobody asked for what comes now.
          this.reusable = false;
          return;
        default:
          at = this.#takeLine(bytes, at);
      }
    }
  }

  /** The connection has ended. False if the answer is not whole. */
  end(): boolean {
    if (this.#state === "until close") this.#finish();
    return this.done;
  }

  #body(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#sink.onData(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#left > 0) return end;
    if (this.#state === "length") this.#finish();
    else this.#state = "chunk end";
    return end;
  }

  #takeHead(bytes: Buffer, from: number): number {
    const before = this.#pending?.length ?? 0;
    const all = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes.subarray(from)]);
    const at = this.#pending === undefined ? from : 0;
    // The end may lie across the border of two pieces.
    const end = all.indexOf("\r\n\r\n", Math.max(at, before - 3), "latin1");
    if ((end === -1 ? all.length : end) - at > HEAD_LIMIT) throw notHttp("its head is too long");
    if (end === -1) {
      // Whatever else speaks first is found out by its first bytes, not by its silence after them.
      const start = all.toString("latin1", at, at + HTTP.length);
      if (!HTTP.startsWith(start)) throw notHttp("it does not begin with HTTP/1");
      this.#pending = at === 0 ? all : all.subarray(at);
      return bytes.length;
    }
    this.#pending = undefined;
    this.#parseHead(all.toString("latin1", at, end));
    return end + 4 - before + (before > 0 ? from : 0);
  }

  #parseHead(text: string): void {
    const lines = text.split("\r\n");
    const status = STATUS_LINE.exec(lines[0] as string);
    if (status === null) throw notHttp("its first line is not a status");
    const statusCode = Number(status[2]);
    const headers: HttpHeaders = {};
    for (let index = 1; index < lines.length; index++) addHeader(headers, lines[index] as string);
    if (statusCode === 101) throw notHttp("it changes to another protocol");
    // More is to come after these.
    if (statusCode < 200) return;
    this.#frame(statusCode, headers, status[1] === "1");
    this.#sink.onHead(statusCode, headers);
    if (this.#left === 0 && this.#state === "length") this.#finish();
  }

  /** Where the body ends, and what becomes of the connection then. */
  #frame(statusCode: number, headers: HttpHeaders, persistent: boolean): void {
    const { connection, "content-length": length, "transfer-encoding": encoding } = headers;
    const tokens = connection === undefined ? "" : String(connection).toLowerCase();
    this.reusable = persistent ? !/\bclose\b/.test(tokens) : /\bkeep-alive\b/.test(tokens);
    const keepAlive = headers["keep-alive"];
    const seconds = keepAlive === undefined ? undefined : /\btimeout=(\d{1,9})\b/i.exec(String(keepAlive))?.[1];
    this.keepAliveSeconds = seconds === undefined ? undefined : Number(seconds);
    this.#state = "length";
    this.#left = 0;
    if (encoding !== undefined && length !== undefined) throw notHttp("it tells its length in two ways");
    if (length !== undefined && (typeof length !== "string" || !/^\d{1,15}$/.test(length))) {
      throw notHttp("its length is not a number");
    }
    if (this.#method === "HEAD" || statusCode === 204 || statusCode === 304) return;
    if (encoding !== undefined) {
      if (String(encoding).toLowerCase() !== "chunked" || !persistent)
        throw notHttp("its transfer encoding is unknown");
      this.#state = "chunk size";
    } else if (length !== undefined) this.#left = Number(length);
    else {
      this.#state = "until close";
      this.reusable = false;
    }
  }

  #takeLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at);
    const piece = bytes.subarray(at, end === -1 ? bytes.length : end);
    const line = this.#pending === undefined ? piece : Buffer.concat([this.#pending, piece]);
    if (line.length > CHUNK_LINE_LIMIT) throw notHttp("a line of its body's frame is too long");
    this.#pending = end === -1 ? line : undefined;
    if (end === -1) return bytes.length;
    this.#takeFrame(line.toString("latin1"));
    return end + 1;
  }

  #takeFrame(line: string): void {
    if (this.#state === "chunk size") {
      const size = CHUNK_SIZE.exec(line)?.[1];
      if (size === undefined) throw notHttp("a chunk's size is not a number");
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    } else if (this.#state === "chunk end") {
      if (line !== "\r") throw notHttp("a chunk is longer than it says");
      this.#state = "chunk size";
    } else {
      this.#trailerBytes += line.length;
      if (this.#trailerBytes > HEAD_LIMIT || !line.endsWith("\r")) throw notHttp("its trailer cannot be read");
      if (line === "\r") this.#finish();
    }
  }

  #finish(): void {
    this.#state = "done";
    this.#sink.onEnd();
  }
}

function addHeader(headers: HttpHeaders, line: string): void {
  if (!HEADER_LINE.test(line)) throw notHttp("a header line cannot be read");
  const colon = line.indexOf(":");
  const name = line.slice(0, colon).toLowerCase();
  const value = line.slice(colon + 1).trim();
  const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (before === undefined) headers[name] = value;
  else headers[name] = typeof before === "string" ? [before, value] : [...before, value];
}

function notHttp(why: string): Error {
  return new Error(`the answer is not HTTP/1.1 as it should be: ${why}`);
}

const HTTP = "HTTP/1.";
const LF = 10;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const HEADER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/;
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r$/i;
