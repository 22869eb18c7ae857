import { constants } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { aborted, type Clock, describeError, type Logger, systemClock } from "@fjord/base";
import { sendRefusal, sendUpgradeRefusal } from "./answers.ts";
import type { KubeletBackend } from "./backend.ts";
import { CannotListen, InvalidServingTls, TooManyStreams } from "./errors.ts";
import { FailureLog } from "./failure-log.ts";
import type { Guard } from "./guard.ts";
import { PlainRequests } from "./plain-requests.ts";
import { parseRoute } from "./route.ts";
import type { StreamRequests } from "./stream-requests.ts";

/** PEM texts. */
export interface ServingTls {
  readonly cert: string;
  readonly key: string;
  /** Whose client certificates are believed. Absent: nobody's. */
  readonly clientCa?: string;
}

export interface KubeletServerOptions {
  backend: KubeletBackend;
  guard: Pick<Guard, "admit">;
  tls: ServingTls;
  /** @default all addresses */
  host?: string;
  /** 0 for any. @default 10250 */
  port?: number;
  log: Logger;
  clock?: Clock;
  /** What `/configz` shows; without it there is none. */
  configuration?: () => unknown;
  /** More lines for `/metrics`, in Prometheus' text format. */
  metrics?: () => string | Promise<string>;
  /** What `/logs/fjord.log` shows: what this program has logged of late. Without it there is no such log. */
  ownLog?: () => string;
  limits?: Partial<KubeletServerLimits>;
}

export interface KubeletServerLimits {
  /** @default 1000 */
  connections: number;
  /** Exec, attach and port-forward at once. @default 500 */
  streams: number;
  /** Bytes of a request's head. @default 32768 */
  headerBytes: number;
  /** For the TLS handshake, and for the head of a request. @default 10000 */
  headerMs: number;
  /** How long a client may leave an answer unread. @default 600000 */
  stallMs: number;
  /** How long nothing may happen on a stream. @default four hours */
  idleMs: number;
}

const DEFAULT_LIMITS: KubeletServerLimits = {
  connections: 1000,
  streams: 500,
  headerBytes: 32 * 1024,
  headerMs: 10_000,
  stallMs: 600_000,
  idleMs: 4 * 3_600_000,
};

/** The node's own API, which API servers use for logs, exec and the like, and metrics-server for usage. */
export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #limits: KubeletServerLimits;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #plain: PlainRequests;
  readonly #failures: FailureLog;
  #streams: Promise<StreamRequests> | undefined;
  readonly #upgraded = new Set<Duplex>();
  /** Those of them whose client was let in: strangers must not use up what others may have. */
  readonly #admitted = new Set<Duplex>();

  constructor(options: KubeletServerOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    const { backend, log, configuration, metrics, ownLog } = options;
    this.#failures = new FailureLog(log, this.#clock);
    this.#plain = new PlainRequests({
      backend,
      log,
      clock: this.#clock,
      stallMs: this.#limits.stallMs,
      ...(configuration && { configuration }),
      ...(metrics && { metrics }),
      ...(ownLog && { ownLog }),
    });
    this.#server = this.#createServer();
  }

  /** Where it listens. Only once `listen` has resolved. */
  get address(): AddressInfo {
    return this.#server.address() as AddressInfo;
  }

  /** Takes new certificates for the connections to come. */
  setTls(tls: ServingTls): void {
    try {
      this.#server.setSecureContext(secureContext(tls));
    } catch (cause) {
      throw new InvalidServingTls({ reason: describeError(cause) }, { cause });
    }
  }

  async listen(): Promise<void> {
    const { port = 10250, host } = this.#options;
    this.#server.listen(port, host);
    await once(this.#server, "listening").catch((cause: unknown) => {
      throw new CannotListen({ port: String(port), reason: describeError(cause) }, { cause });
    });
    this.#options.log.info("serving the kubelet API", { address: this.address.address, port: this.address.port });
  }

  /** Serves a connection that another has taken, where many nodes share a port. */
  accept(connection: Socket): void {
    this.#server.emit("connection", connection);
  }

  /** Listens, unless it does already, until the signal aborts; then every connection is closed. */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.#server.listening) await this.listen();
    await aborted(signal);
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
    await closed;
  }

  #createServer(): Server {
    const { connections, headerBytes, headerMs } = this.#limits;
    let server: Server;
    try {
      server = createServer({
        ...secureContext(this.#options.tls),
        requestCert: true,
        // Who has no certificate, or another's, may have a token.
        rejectUnauthorized: false,
        handshakeTimeout: headerMs,
        maxHeaderSize: headerBytes,
        headersTimeout: headerMs,
        requestTimeout: headerMs * 3,
        // Programs in Go leave a connection after 90 s: closing it first would cross with their next request.
        keepAliveTimeout: 120_000,
        connectionsCheckingInterval: Math.min(headerMs, 5000),
        // Nobody notices otherwise that the other machine is gone.
        keepAlive: true,
        keepAliveInitialDelay: 30_000,
        noDelay: true,
      });
    } catch (cause) {
      throw new InvalidServingTls({ reason: describeError(cause) }, { cause });
    }
    server.maxConnections = connections;
    server.on("request", (request, response) => this.#onRequest(request, response));
    server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
    server.on("tlsClientError", (error) => {
      this.#options.log.debug("a TLS handshake failed", { error: describeError(error) });
    });
    return server;
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    // Nothing that is asked for here has a body.
    request.resume();
    try {
      await this.#options.guard.admit(request);
      const route = parseRoute({ method: request.method ?? "", target: request.url ?? "" }, this.#clock.now());
      await this.#plain.answer(route, response, gone.signal, this.#admitted.size);
    } catch (error) {
      if (!response.destroyed) sendRefusal(response, error, this.#failures);
    }
  }

  async #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { log } = this.#options;
    socket.on("error", (error) => log.debug("a stream's connection failed", { error: describeError(error) }));
    this.#upgraded.add(socket);
    socket.once("close", () => {
      this.#upgraded.delete(socket);
      this.#admitted.delete(socket);
    });
    let switched = false;
    const onSwitch = () => {
      switched = true;
    };
    try {
      await this.#options.guard.admit(request);
      if (this.#admitted.size >= this.#limits.streams) throw new TooManyStreams({ limit: this.#limits.streams });
      if (!socket.destroyed) this.#admitted.add(socket);
      const route = parseRoute({ method: request.method ?? "", target: request.url ?? "" }, this.#clock.now());
      this.#streams ??= this.#loadStreams();
      await (await this.#streams).answer(route, { request, socket, head, onSwitch });
    } catch (error) {
      // Once it is no longer HTTP, nobody would understand an answer.
      if (!switched) sendUpgradeRefusal(socket, error, this.#failures);
      else log.debug("a stream ended early", { error: describeError(error) });
    } finally {
      this.#destroyLater(socket);
    }
  }

  /** Many a node never sees a stream, and needs no memory for what serves them. */
  async #loadStreams(): Promise<StreamRequests> {
    const { StreamRequests } = await import("./stream-requests.ts");
    const { backend, log } = this.#options;
    return new StreamRequests({ backend, log, clock: this.#clock, idleTimeoutMs: this.#limits.idleMs });
  }

  #destroyLater(socket: Duplex): void {
    const stop = this.#clock.after(5000, () => socket.destroy());
    if (socket.destroyed) stop();
    else socket.once("close", stop);
  }
}

function secureContext({ cert, key, clientCa }: ServingTls) {
  return {
    cert,
    key,
    minVersion: "TLSv1.2" as const,
    // A resumed session would remember a client whom the authority of today does not know.
    secureOptions: constants.SSL_OP_NO_TICKET,
    // Without a list it would be the authorities that the system trusts.
    ca: clientCa ?? [],
  };
}
