import { createGunzip, type Gunzip } from "node:zlib";
import type { Clock } from "@fjord/base";
import type { AnswerRoom } from "./answer-room.ts";
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
import { redactBytes } from "./redaction.ts";
import type { AnswerHandler, Sending, Wire } from "./wire.ts";

export interface ExchangeOptions {
  origin: string;
  /** The whole path, base path included. */
  path: string;
  headers: HttpHeaders;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  maxBodyBytes: number;
  /** What all answers of the server that are under way have together. */
  room: AnswerRoom;
  /** How long all of it may take, however busy the server keeps us; a stream only until it is open. 0: for ever. */
  deadlineMs: number;
  clock: Clock;
}

export interface StreamResponse extends HttpResponse {
  /** Set when the server agreed (2xx); a refusal's body is in `body`. */
  readonly stream?: ByteStream;
}

/** Sends a request and collects the answer. Rejects with `ConnectionError`, or with the signal's reason. */
export function exchange(wire: Wire, request: HttpRequest, options: ExchangeOptions): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    start(wire, request, options, new Exchange(request, options, resolve, reject));
  });
}

/** Sends a request and hands over its body as it arrives. */
export function streamingExchange(
  wire: Wire,
  request: StreamRequest,
  options: ExchangeOptions,
): Promise<StreamResponse> {
  return new Promise((resolve, reject) => {
    start(wire, request, options, new StreamingExchange(request, options, resolve, reject));
  });
}

function start(wire: Wire, request: HttpRequest, options: ExchangeOptions, handler: Exchange): void {
  if (request.signal?.aborted) {
    handler.fail(request.signal.reason);
    return;
  }
  request.signal?.addEventListener("abort", handler.onAbort, { once: true });
  handler.startDeadline(options.deadlineMs);
  handler.sending = wire.send(
    {
      method: request.method,
      path: options.path,
      headers: options.headers,
      body: request.body,
      headersTimeoutMs: options.headersTimeoutMs,
      bodyTimeoutMs: options.bodyTimeoutMs,
    },
    handler,
  );
}

class Exchange implements AnswerHandler {
  protected readonly request: HttpRequest;
  protected readonly options: ExchangeOptions;
  protected readonly resolve: (response: StreamResponse) => void;
  protected readonly reject: (reason: unknown) => void;
  sending: Sending | undefined;
  protected statusCode = 0;
  protected headers: HttpHeaders = {};
  #chunks: Buffer[] = [];
  #collector: BodyCollector | undefined;
  #gunzip: Gunzip | undefined;
  #bytesLeft: number;
  /** What it takes of the room. */
  #held = 0;
  #sent = false;
  #done = false;
  #ended = false;
  #stopDeadline: (() => void) | undefined;

  constructor(
    request: HttpRequest,
    options: ExchangeOptions,
    resolve: (response: StreamResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.request = request;
    this.options = options;
    this.#bytesLeft = options.maxBodyBytes;
    this.resolve = resolve;
    this.reject = reject;
  }

  readonly onAbort = (): void => this.giveUp(this.request.signal?.reason);

  startDeadline(ms: number): void {
    this.#stopDeadline?.();
    this.#stopDeadline = undefined;
    if (ms === 0) return;
    this.#stopDeadline = this.options.clock.after(ms, () => {
      this.giveUp(new Error(`there was no whole answer within ${ms / 1000} s`));
    });
  }

  onSent(): void {
    this.#sent = true;
  }

  onHead(statusCode: number, headers: HttpHeaders): void {
    this.statusCode = statusCode;
    this.headers = headers;
    if (isSuccess(statusCode)) this.#collector = this.request.collector?.();
    if (headerValue(headers, "content-encoding") === "gzip") this.#unzip();
  }

  onData(chunk: Buffer): void {
    if (this.#done) return;
    if (this.#gunzip === undefined) this.#take(chunk);
    else this.#gunzip.write(chunk);
  }

  onEnd(): void {
    this.#ended = true;
    if (this.#done) return;
    if (this.#gunzip === undefined) this.#finish();
    else this.#gunzip.end();
  }

  onError(error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    this.detach();
    this.#done = true;
    this.#gunzip?.destroy();
    this.reject(this.describe(error));
  }

  /** Fails, and ends the connection: whatever else comes over it, nobody reads. */
  protected giveUp(error: unknown): void {
    this.fail(error);
    this.sending?.abort();
  }

  #unzip(): void {
    this.#gunzip = createGunzip()
      .on("data", (chunk: Buffer) => this.#take(chunk))
      .on("end", () => {
        if (this.#ended) this.#finish();
        else this.giveUp(new Error("the answer goes on after its compressed content has ended"));
      })
      .on("error", (error) => this.giveUp(error));
  }

  #take(chunk: Buffer): void {
    if (this.#done) return;
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft < 0) {
      this.giveUp(new Error("the answer is larger than is allowed"));
      return;
    }
    try {
      this.options.room.take(chunk.length);
      this.#held += chunk.length;
      if (this.#collector === undefined) this.#chunks.push(chunk);
      else this.#collector.push(chunk);
    } catch (error) {
      // Thrown on, it would end the process: nobody stands around a stream's events.
      this.giveUp(error);
    }
  }

  #finish(): void {
    if (this.#done) return;
    try {
      const { statusCode, headers } = this;
      const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
      this.#chunks = [];
      const shown = isSuccess(statusCode) ? body : redactBytes(body, this.options.headers);
      this.detach();
      this.#done = true;
      this.resolve({ statusCode, headers, body: shown, collector: this.#collector });
    } catch (error) {
      this.giveUp(error);
    }
  }

  protected detach(): void {
    this.options.room.take(-this.#held);
    this.#held = 0;
    this.#stopDeadline?.();
    this.request.signal?.removeEventListener("abort", this.onAbort);
  }

  /** The signal's own reason for an abort, a `ConnectionError` for all else. */
  protected describe(cause: unknown): unknown {
    if (this.request.signal?.aborted) return this.request.signal.reason;
    return new ConnectionError({ action: this.request.action, server: this.options.origin, cause, sent: this.#sent });
  }
}

class StreamingExchange extends Exchange {
  readonly #idleTimeoutMs: number | undefined;
  readonly #heldBytes: number | undefined;
  #stream: ByteStream | undefined;

  constructor(
    request: StreamRequest,
    options: ExchangeOptions,
    resolve: (response: StreamResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    super(request, options, resolve, reject);
    this.#idleTimeoutMs = request.idleTimeoutMs;
    this.#heldBytes = request.heldBytes;
  }

  override onHead(statusCode: number, headers: HttpHeaders): void {
    super.onHead(statusCode, headers);
    // Without this, the words of a refusal could come for ever.
    this.startDeadline(isSuccess(statusCode) ? 0 : REFUSAL_MS);
    if (!isSuccess(statusCode)) return;
    this.#stream = new ByteStream({
      source: {
        pause: () => this.sending?.pause(),
        resume: () => this.sending?.resume(),
        cancel: () => {
          this.detach();
          this.sending?.abort();
        },
      },
      clock: this.options.clock,
      idleTimeoutMs: this.#idleTimeoutMs,
      ...(this.#heldBytes !== undefined && { heldBytes: this.#heldBytes }),
      idleError: (ms) => this.describe(new Error(`nothing arrived for ${ms / 1000} s`)) as Error,
    });
    this.resolve({ statusCode, headers, body: noBytes, stream: this.#stream });
  }

  override onData(chunk: Buffer): void {
    if (this.#stream === undefined) super.onData(chunk);
    else this.#stream.push(chunk);
  }

  override onEnd(): void {
    if (this.#stream === undefined) super.onEnd();
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

const REFUSAL_MS = 60_000;
const noBytes = Buffer.alloc(0);
