import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import type { HttpHeaders } from "./http.ts";
import type { AnswerHandler, Sending, Wire, WireRequest } from "./wire.ts";

/** One request on a connection that others use too, from its wait for one to its answer's end. */
export class SharedTurn implements Sending {
  readonly #request: WireRequest;
  readonly #handler: AnswerHandler;
  readonly #host: string;
  #stream: ClientHttp2Stream | undefined;
  /** Over a connection of its own. */
  #alone: Sending | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;
  readonly #left = new AbortController();

  constructor(request: WireRequest, handler: AnswerHandler, host: string) {
    this.#request = request;
    this.#handler = handler;
    this.#host = host;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Aborts when nobody wants the answer any more, or it failed. */
  get signal(): AbortSignal {
    return this.#left.signal;
  }

  beginAlone(wire: Wire): void {
    if (!this.#over) this.#alone = wire.send(this.#request, this.#handler);
  }

  begin(session: ClientHttp2Session, onOver: () => void): void {
    const { method, path, headers, body, headersTimeoutMs } = this.#request;
    const { host: _, ...own } = headers;
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        { ...own, ":method": method, ":path": path, ":authority": this.#host },
        { endStream: body === undefined },
      );
    } catch (error) {
      onOver();
      this.fail(error as Error);
      return;
    }
    this.#stream = stream;
    this.#handler.onSent();
    if (headersTimeoutMs > 0) this.#timer = setTimeout(headersTimedOut, headersTimeoutMs, this, headersTimeoutMs);
    let isWhole = false;
    let problem: Error | undefined;
    stream.on("response", (answer) => this.#head(answer));
    stream.on("data", (chunk: Buffer) => {
      if (!this.#over) this.#handler.onData(chunk);
    });
    stream.on("end", () => {
      isWhole = !stream.aborted;
    });
    stream.on("error", (error) => {
      problem = error;
    });
    stream.on("close", () => {
      onOver();
      if (isWhole && problem === undefined && stream.rstCode === 0) this.#end();
      else this.fail(problem ?? broken(stream.rstCode ?? 0));
    });
    if (body !== undefined) stream.end(body);
  }

  pause(): void {
    this.#stream?.pause();
    this.#alone?.pause();
  }

  resume(): void {
    this.#stream?.resume();
    this.#alone?.resume();
  }

  abort(): void {
    this.#finish();
  }

  fail(error: Error): void {
    if (this.#finish()) this.#handler.onError(error);
  }

  #head({ ":status": statusCode, ...headers }: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    clearTimeout(this.#timer);
    if (!this.#over) this.#handler.onHead(statusCode ?? 0, headers as HttpHeaders);
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#handler.onEnd();
  }

  /** Nothing is told any more, and the server is told to stop. False if all was over already. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#left.abort(LEFT);
    this.#alone?.abort();
    this.#stream?.close(CANCEL);
    // What came before is read by nobody, and must not keep the stream open.
    this.#stream?.resume();
    return true;
  }
}

function headersTimedOut(turn: SharedTurn, ms: number): void {
  turn.fail(Object.assign(new Error(`Timeout: the answer did not begin within ${ms / 1000} s`), { code: "ETIMEDOUT" }));
}

function broken(code: number): Error {
  const message = `the other side ended the answer before its end (HTTP/2 code ${code})`;
  return Object.assign(new Error(message), { code: "ECONNRESET" });
}

const CANCEL = 8;
const LEFT = new Error("nobody waits for the answer any more");
