import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "@fjord/base";
import {
  ByteStream,
  ConnectionError,
  clusterConfig,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type StreamRequest,
  type StreamResponse,
  Transport,
  TransportClosed,
} from "@fjord/kube";
import type { Caller } from "../cluster.ts";
import type { ApiServer } from "./api-server.ts";
import { Exchange, type ExchangeRequest, type ExchangeResponse } from "./exchange.ts";

export interface LocalTransportOptions {
  readonly api: ApiServer;
  readonly caller: Caller;
  readonly userAgent: string;
  readonly clock: Clock;
}

/**
 * A client's way to a server in the same process: no connection, no encryption, no HTTP. The client cannot tell, and
 * what it may do is decided as for others.
 */
export class LocalTransport extends Transport {
  readonly #api: ApiServer;
  readonly #caller: Caller;
  readonly #userAgent: string;
  readonly #streams = new Set<() => void>();
  #isClosed = false;

  constructor({ api, caller, userAgent, clock }: LocalTransportOptions) {
    super(clusterConfig({ server: "http://microkube.local" }), { clock, userAgent });
    this.#api = api;
    this.#caller = caller;
    this.#userAgent = userAgent;
  }

  override async request(request: HttpRequest): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    this.#mustBeOpen(request);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        response.destroy();
        reject(request.signal?.reason);
      };
      const response = new CollectedResponse(request, (answer) => {
        request.signal?.removeEventListener("abort", onAbort);
        if (answer === undefined) reject(this.#broken(request));
        else resolve(answer);
      });
      request.signal?.addEventListener("abort", onAbort, { once: true });
      this.#send(request, response);
    });
  }

  override async stream(request: StreamRequest): Promise<StreamResponse> {
    request.signal?.throwIfAborted();
    this.#mustBeOpen(request);
    return new Promise((resolve, reject) => {
      const source = { pause() {}, resume() {}, cancel: () => response.destroy() };
      const { clock } = this;
      const idleError = (ms: number) => this.#broken(request, `nothing came for ${ms / 1000} s`);
      const stream = new ByteStream({ source, clock, idleError });
      const onAbort = () => stream.abort(request.signal?.reason);
      const cut = () => stream.abort(new TransportClosed({ action: request.action, server: this.server }));
      const response = new StreamedResponse(stream, (answer) => {
        if (answer !== undefined) resolve(answer);
        else reject(this.#broken(request));
      });
      this.#streams.add(cut);
      stream.onClose(() => {
        this.#streams.delete(cut);
        request.signal?.removeEventListener("abort", onAbort);
      });
      request.signal?.addEventListener("abort", onAbort, { once: true });
      this.#send(request, response);
    });
  }

  override close(): Promise<void> {
    this.#isClosed = true;
    for (const cut of this.#streams) cut();
    return super.close();
  }

  #send(request: HttpRequest, response: LocalResponse): void {
    const exchange = new Exchange(new LocalRequest(request, this.#userAgent), response);
    exchange.caller = this.#caller;
    void this.#api.serve(exchange);
  }

  #mustBeOpen({ action }: HttpRequest): void {
    if (this.#isClosed) throw new TransportClosed({ action, server: this.server });
  }

  #broken({ action }: HttpRequest, reason = "the answer was cut off"): ConnectionError {
    return new ConnectionError({ action, server: this.server, reason, sent: true });
  }
}

class LocalRequest implements ExchangeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly complete = true;
  readonly #body: Buffer | undefined;

  constructor({ method, path, headers = {}, body }: HttpRequest, userAgent: string) {
    this.method = method;
    this.url = path;
    const own: Record<string, string | string[] | undefined> = { accept: "application/json", "user-agent": userAgent };
    for (const [name, value] of Object.entries(headers)) own[name.toLowerCase()] = value;
    this.headers = own as IncomingHttpHeaders;
    this.#body = body === undefined ? undefined : Buffer.from(body as string);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    if (this.#body !== undefined) yield this.#body;
  }
}

/** What a handler writes to, as to a response of HTTP. */
abstract class LocalResponse extends EventEmitter implements ExchangeResponse {
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  writableFinished = false;
  readonly chunkedEncoding = false;
  readonly socket = null;
  protected readonly headers: HttpHeaders = {};

  setHeader(name: string, value: string | readonly string[]): void {
    this.headers[name.toLowerCase()] = value as string;
  }

  writeHead(code: number, headers: Record<string, string | number | string[]> | string[]): void {
    this.statusCode = code;
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers)) {
        this.headers[name.toLowerCase()] = typeof value === "number" ? String(value) : value;
      }
    }
    this.headersSent = true;
  }

  flushHeaders(): void {
    this.begin();
  }

  write(chunk: string | Buffer): boolean {
    if (this.destroyed || this.writableFinished) return true;
    this.begin();
    this.take(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    return true;
  }

  end(chunk?: string | Buffer): void {
    if (this.destroyed || this.writableFinished) return;
    if (chunk !== undefined) this.write(chunk);
    else this.begin();
    this.writableFinished = true;
    this.finish();
    this.emit("close");
  }

  destroy(): void {
    if (this.destroyed || this.writableFinished) return;
    this.destroyed = true;
    this.break();
    this.emit("close");
  }

  protected begin(): void {}
  protected abstract take(chunk: Buffer): void;
  protected abstract finish(): void;
  protected abstract break(): void;
}

const isSuccess = (code: number) => code >= 200 && code < 300;

class CollectedResponse extends LocalResponse {
  readonly #request: HttpRequest;
  readonly #done: (answer: HttpResponse | undefined) => void;
  readonly #chunks: Buffer[] = [];
  #collector: HttpResponse["collector"];

  constructor(request: HttpRequest, done: (answer: HttpResponse | undefined) => void) {
    super();
    this.#request = request;
    this.#done = done;
  }

  protected take(chunk: Buffer): void {
    if (isSuccess(this.statusCode)) this.#collector ??= this.#request.collector?.();
    if (this.#collector === undefined) this.#chunks.push(chunk);
    else this.#collector.push(chunk);
  }

  protected finish(): void {
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    const collector = this.#collector;
    const { statusCode, headers } = this;
    this.#done({ statusCode, headers, body, ...(collector !== undefined && { collector }) });
  }

  protected break(): void {
    this.#done(undefined);
  }
}

class StreamedResponse extends LocalResponse {
  readonly #stream: ByteStream;
  readonly #open: (answer: StreamResponse | undefined) => void;
  readonly #refusal: Buffer[] = [];
  #isOpen = false;

  constructor(stream: ByteStream, open: (answer: StreamResponse | undefined) => void) {
    super();
    this.#stream = stream;
    this.#open = open;
  }

  protected override begin(): void {
    if (this.#isOpen || !isSuccess(this.statusCode)) return;
    this.#isOpen = true;
    const { statusCode, headers } = this;
    this.#open({ statusCode, headers, body: Buffer.alloc(0), stream: this.#stream });
  }

  protected take(chunk: Buffer): void {
    if (this.#isOpen) this.#stream.push(chunk);
    else this.#refusal.push(chunk);
  }

  protected finish(): void {
    this.#stream.end();
    const { statusCode, headers } = this;
    if (!this.#isOpen) this.#open({ statusCode, headers, body: Buffer.concat(this.#refusal) });
  }

  protected break(): void {
    this.#stream.fail(new Error("the answer was cut off"));
    if (!this.#isOpen) this.#open(undefined);
  }
}
