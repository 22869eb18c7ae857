import { createGunzip, type Gunzip } from "node:zlib";
import type { Clock } from "@fjord/base";
import type { Dispatcher } from "undici";
import { ByteStream } from "./byte-stream.ts";
import { ConnectionError } from "./errors.ts";
import {
  type BodyCollector,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  headerValue,
  type StreamRequest,
} from "./http.ts";

export interface ExchangeOptions {
  origin: string;
  /** The whole path, base path included. */
  path: string;
  headers: HttpHeaders;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  maxBodyBytes: number;
}

export interface StreamResponse extends HttpResponse {
  /** Set when the server agreed (2xx); a refusal's body is in `body`. */
  readonly stream?: ByteStream;
}

/** Sends a request and collects the answer. Rejects with `ConnectionError`, or with the signal's reason. */
export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    start(dispatcher, request, options, new Exchange(request, options, resolve, reject));
  });
}

/** Sends a request and hands over its body as it arrives. */
export function streamingExchange(
  dispatcher: Dispatcher,
  request: StreamRequest,
  options: ExchangeOptions,
  clock: Clock,
): Promise<StreamResponse> {
  return new Promise((resolve, reject) => {
    start(dispatcher, request, options, new StreamingExchange(request, options, resolve, reject, clock));
  });
}

function start(dispatcher: Dispatcher, request: HttpRequest, options: ExchangeOptions, handler: Exchange): void {
  if (request.signal?.aborted) {
    handler.fail(request.signal.reason);
    return;
  }
  request.signal?.addEventListener("abort", handler.onAbort, { once: true });
  try {
    dispatcher.dispatch(
      {
        origin: options.origin,
        path: options.path,
        method: request.method,
        headers: options.headers,
        body: request.body ?? null,
        headersTimeout: options.headersTimeoutMs,
        bodyTimeout: options.bodyTimeoutMs,
      },
      handler,
    );
  } catch (error) {
    handler.fail(error);
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  protected readonly request: HttpRequest;
  protected readonly server: string;
  protected readonly resolve: (response: StreamResponse) => void;
  protected readonly reject: (reason: unknown) => void;
  protected controller: Dispatcher.DispatchController | undefined;
  protected statusCode = 0;
  protected headers: HttpHeaders = {};
  #chunks: Buffer[] = [];
  #collector: BodyCollector | undefined;
  #gunzip: Gunzip | undefined;
  #bytesLeft: number;
  #sent = false;

  constructor(
    request: HttpRequest,
    options: ExchangeOptions,
    resolve: (response: StreamResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.request = request;
    this.server = options.origin;
    this.#bytesLeft = options.maxBodyBytes;
    this.resolve = resolve;
    this.reject = reject;
  }

  readonly onAbort = (): void => {
    this.fail(this.request.signal?.reason);
    this.controller?.abort(abortError);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.request.signal?.aborted) controller.abort(abortError);
    else this.#sent = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: HttpHeaders): void {
    this.statusCode = statusCode;
    this.headers = headers;
    if (isSuccess(statusCode)) this.#collector = this.request.collector?.();
    if (headerValue(headers, "content-encoding") === "gzip") this.#unzip();
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#gunzip === undefined) this.#take(chunk);
    else this.#gunzip.write(chunk);
  }

  onResponseEnd(): void {
    if (this.#gunzip === undefined) this.#finish();
    else this.#gunzip.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    this.detach();
    this.#gunzip?.destroy();
    this.reject(this.describe(error));
  }

  #unzip(): void {
    this.#gunzip = createGunzip()
      .on("data", (chunk: Buffer) => this.#take(chunk))
      .on("end", () => this.#finish())
      .on("error", (error) => this.fail(error));
  }

  #take(chunk: Buffer): void {
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft < 0) {
      this.fail(new Error("the answer is larger than is allowed"));
      this.controller?.abort(abortError);
      return;
    }
    if (this.#collector === undefined) this.#chunks.push(chunk);
    else this.#collector.push(chunk);
  }

  #finish(): void {
    this.detach();
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.resolve({ statusCode: this.statusCode, headers: this.headers, body, collector: this.#collector });
  }

  protected detach(): void {
    this.request.signal?.removeEventListener("abort", this.onAbort);
  }

  /** The signal's own reason for an abort, a `ConnectionError` for all else. */
  protected describe(cause: unknown): unknown {
    if (this.request.signal?.aborted) return this.request.signal.reason;
    return new ConnectionError({ action: this.request.action, server: this.server, cause, sent: this.#sent });
  }
}

class StreamingExchange extends Exchange {
  readonly #clock: Clock;
  readonly #idleTimeoutMs: number | undefined;
  #stream: ByteStream | undefined;

  constructor(
    request: StreamRequest,
    options: ExchangeOptions,
    resolve: (response: StreamResponse) => void,
    reject: (reason: unknown) => void,
    clock: Clock,
  ) {
    super(request, options, resolve, reject);
    this.#clock = clock;
    this.#idleTimeoutMs = request.idleTimeoutMs;
  }

  override onResponseStart(controller: Dispatcher.DispatchController, statusCode: number, headers: HttpHeaders): void {
    super.onResponseStart(controller, statusCode, headers);
    if (!isSuccess(statusCode)) return;
    this.#stream = new ByteStream({
      source: {
        pause: () => controller.pause(),
        resume: () => controller.resume(),
        cancel: () => {
          this.detach();
          controller.abort(abortError);
        },
      },
      clock: this.#clock,
      idleTimeoutMs: this.#idleTimeoutMs,
      idleError: (ms) => this.describe(new Error(`nothing arrived for ${ms / 1000} s`)) as Error,
    });
    this.resolve({ statusCode, headers, body: noBytes, stream: this.#stream });
  }

  override onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream === undefined) super.onResponseData(controller, chunk);
    else this.#stream.push(chunk);
  }

  override onResponseEnd(): void {
    if (this.#stream === undefined) super.onResponseEnd();
    else {
      this.detach();
      this.#stream.end();
    }
  }

  override fail(error: unknown): void {
    super.fail(error);
    const reason = this.describe(error) as Error;
    if (this.request.signal?.aborted) this.#stream?.abort(reason);
    else this.#stream?.fail(reason);
  }
}

function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300;
}

const noBytes = Buffer.alloc(0);
// undici wants an error to end a connection with; nobody sees this one.
const abortError = Object.assign(new Error("the request was given up"), { name: "AbortError" });
