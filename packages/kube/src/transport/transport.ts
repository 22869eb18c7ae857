import { type Clock, sleep, systemClock } from "@fjord/base";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import { mergeHeaders } from "../config/headers.ts";
import { AnswerRoom } from "./answer-room.ts";
import type { ByteStream } from "./byte-stream.ts";
import { ClusterConnections, type ConnectionOptions, type Connections } from "./connections.ts";
import { ConnectionError, InvalidServerUrl, TransportClosed } from "./errors.ts";
import { type ExchangeOptions, exchange, type StreamResponse, streamingExchange } from "./exchange.ts";
import {
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  headerValue,
  retryAfterSeconds,
  type StreamRequest,
} from "./http.ts";
import { ServerClock } from "./server-clock.ts";

export interface TransportOptions extends ConnectionOptions {
  /** @default "fjord" */
  userAgent?: string;
  /** How long an answer may take to begin. @default 75000, a little more than an API server gives itself */
  headersTimeoutMs?: number;
  /** How long an answer may pause. @default 60000 */
  bodyTimeoutMs?: number;
  /**
   * Asks for large answers to be compressed: twenty times fewer bytes for a third more time where bytes cost nothing.
   * @default true, unless the server is on this machine
   */
  compress?: boolean;
  /** How large an answer may be once it is unpacked; streams are not limited. @default 500 MiB */
  maxBodyBytes?: number;
  /** How much of all answers together may have come that are not whole yet, events of watches among them. @default no limit */
  answersBytes?: number;
  /** How long a request may take in all, each attempt on its own, to the answer's end. @default 600000 */
  requestTimeoutMs?: number;
  /** How long `close()` waits for requests under way before it cuts them. @default 30000 */
  closeGraceMs?: number;
  /** How long one request may wait in all because the server answered 429. @default 30000 */
  tooManyRequestsBudgetMs?: number;
  clock?: Clock;
}

/** A little less than the longest string there can be, so that whatever was taken can also be parsed. */
const MAX_BODY_BYTES = 500 * 1024 ** 2;
const RESET_RETRIES = 2;
const RESET_DELAY_MS = 100;

/**
 * HTTP to one API server: credentials, connections, and the repetitions that are always safe. A request the server did
 * not process (429, 401 with a stale credential) is repeated, and so is a read whose connection broke; a write whose
 * outcome is unknown never is.
 */
export class Transport implements AsyncDisposable {
  /** The base URL, without a slash at its end. */
  readonly server: string;
  /** The caller's own way to connect for exec, attach and port-forward, if it has one. */
  readonly connectLasting: ConnectionOptions["connect"];
  readonly #config: ClusterConfig;
  readonly #connections: Connections;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: HttpHeaders;
  readonly clock: Clock;
  /** What time it is there. */
  readonly serverClock: ServerClock;
  /** What answers under way take together. */
  readonly room: AnswerRoom;
  readonly #options: Required<Omit<TransportOptions, "clock" | "answersBytes" | keyof ConnectionOptions>>;
  readonly #streams = new Set<() => void>();
  #closing: Promise<void> | undefined;
  readonly #closed = new AbortController();

  constructor(config: ClusterConfig, options: TransportOptions = {}) {
    const url = parseServer(config.server);
    this.#config = config;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.server = this.#origin + this.#basePath;
    this.clock = options.clock ?? systemClock;
    this.serverClock = new ServerClock(this.clock);
    this.room = new AnswerRoom(options.answersBytes ?? Number.POSITIVE_INFINITY);
    this.#options = {
      userAgent: options.userAgent ?? "fjord",
      compress: options.compress ?? !isLoopback(url.hostname),
      maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
      requestTimeoutMs: options.requestTimeoutMs ?? 600_000,
      closeGraceMs: options.closeGraceMs ?? 30_000,
      headersTimeoutMs: options.headersTimeoutMs ?? 75_000,
      bodyTimeoutMs: options.bodyTimeoutMs ?? 60_000,
      tooManyRequestsBudgetMs: options.tooManyRequestsBudgetMs ?? 30_000,
    };
    const defaults = { "user-agent": this.#options.userAgent, accept: "application/json" };
    this.#headers = mergeHeaders(defaults, config.headers);
    this.connectLasting = options.connectLasting ?? options.connect;
    this.#connections = new ClusterConnections(config, options);
  }

  /** Sends a request and gives whatever the server answered, refusals too. */
  async request(request: HttpRequest): Promise<HttpResponse> {
    for (let resets = 0; ; resets++) {
      try {
        return await this.#repeat(request, async (credential) => {
          const options = this.#exchangeOptions(request, credential);
          if (this.#options.compress) options.headers["accept-encoding"] = "gzip";
          return await exchange(await this.#connections.pool(credential), request, options);
        });
      } catch (error) {
        if (resets === RESET_RETRIES || request.method !== "GET" || !isReset(error)) throw error;
        if (resets > 0) await sleep(this.clock, RESET_DELAY_MS, request.signal);
      }
    }
  }

  /** Like `request`, over a connection of its own and with the body as it arrives, if the server agrees. */
  stream(request: StreamRequest): Promise<StreamResponse> {
    return this.#repeat(request, async (credential) => {
      const lane = await this.#connections.streamLane(credential, request.lasting);
      let stream: ByteStream | undefined;
      const cut = () => {
        stream?.abort(new TransportClosed({ action: request.action, server: this.server }));
        lane.release();
      };
      const forget = () => {
        this.#streams.delete(cut);
        lane.release();
      };
      this.#streams.add(cut);
      try {
        const options = this.#exchangeOptions(request, credential);
        options.headersTimeoutMs = request.headersTimeoutMs ?? options.headersTimeoutMs;
        options.bodyTimeoutMs = 0;
        options.deadlineMs = streamDeadline(options.headersTimeoutMs);
        const response = await streamingExchange(lane.wire, request, options);
        stream = response.stream;
        return response;
      } finally {
        if (stream === undefined) forget();
        else stream.onClose(forget);
        if (this.#closing !== undefined) cut();
      }
    });
  }

  /** Aborts when the transport is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Cuts streams, refuses new requests, and resolves when those under way have ended, or have had their time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closed.abort(new TransportClosed({ action: "go on", server: this.server }));
    for (const cut of this.#streams) cut();
    const stop = this.clock.after(this.#options.closeGraceMs, () => {
      this.#connections.destroy(new TransportClosed({ action: "go on", server: this.server }));
    });
    await this.#connections.close().finally(stop);
  }

  async #repeat<R extends HttpResponse>(
    request: HttpRequest,
    send: (credential: Credential | undefined) => Promise<R>,
  ): Promise<R> {
    let rejected = false;
    let waited = 0;
    for (;;) {
      request.signal?.throwIfAborted();
      if (this.#closing !== undefined) throw new TransportClosed({ action: request.action, server: this.server });
      const credential = await this.#config.credentials?.current();
      const asked = this.serverClock.steady();
      const response = await send(credential);
      this.serverClock.answered(headerValue(response.headers, "date"), asked);
      if (response.statusCode === 401 && this.#config.credentials !== undefined && !rejected) {
        this.#config.credentials.rejected();
        rejected = true;
      } else if (response.statusCode === 429 && request.retryTooManyRequests !== false) {
        const ms = Math.max(100, (retryAfterSeconds(response.headers, this.clock.now()) ?? 1) * 1000);
        waited += ms;
        if (waited > this.#options.tooManyRequestsBudgetMs) return response;
        await sleep(this.clock, ms, request.signal);
      } else return response;
    }
  }

  #exchangeOptions(request: HttpRequest, credential: Credential | undefined): ExchangeOptions {
    return {
      origin: this.#origin,
      path: this.#basePath + request.path,
      headers: this.#requestHeaders(request.headers, credential),
      headersTimeoutMs: this.#options.headersTimeoutMs,
      bodyTimeoutMs: this.#options.bodyTimeoutMs,
      maxBodyBytes: this.#options.maxBodyBytes,
      room: this.room,
      deadlineMs: this.#options.requestTimeoutMs,
      clock: this.clock,
    };
  }

  #requestHeaders(own: HttpHeaders | undefined, credential: Credential | undefined): HttpHeaders {
    return mergeHeaders(this.#headers, own, { authorization: credential?.authorization });
  }
}

/** For a server that stays busy without ever answering; one that is silent is found out before. */
function streamDeadline(headersTimeoutMs: number): number {
  return headersTimeoutMs === 0 ? 0 : headersTimeoutMs * 2 + 30_000;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function parseServer(server: string): URL {
  const url = URL.parse(server);
  if (url === null) throw new InvalidServerUrl({ server, reason: "it is not a URL" });
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new InvalidServerUrl({ server, reason: `it begins with ${url.protocol}// instead of https:// or http://` });
  }
  return url;
}

/** The connection broke, as it does when a server restarts or closes an idle connection just as it is used again. */
function isReset(error: unknown): boolean {
  if (!(error instanceof ConnectionError)) return false;
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return code === "ECONNRESET" || code === "EPIPE";
}
