import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Site } from "@fjord/api";
import { aborted, describeError, TokenBucket } from "@fjord/base";
import { readAsStream } from "@fjord/kube";
import type { Means } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { Caller, PeerRoute, RawRoute } from "../../peer-routes.ts";
import type { PeerIdentity, SiteId } from "../../site-identity.ts";
import type { PeerTls } from "../peer-tls.ts";
import { bodyCost, readJson, refused, refuseUpgrade, sendJson, sendRefusal } from "./answers.ts";
import { Connections } from "./connections.ts";
import { defaultPeerLimits, type PeerLimits } from "./peer-limits.ts";
import { noPeerMetrics, type PeerMetrics } from "./peer-metrics.ts";
import { PeerRates } from "./peer-rates.ts";
import { RequestsAtOnce } from "./requests-at-once.ts";
import { RouteTable } from "./route-table.ts";
import { SharedWatches } from "./shared-watches.ts";

export interface PeerServerOptions extends Omit<Means, "metrics"> {
  readonly tls: PeerTls;
  /** The Site object that names the id, if there is one. */
  readonly siteOf: (id: SiteId) => Site | undefined;
  /** Whether a peer that `siteOf` does not give is being forgotten. */
  readonly isParting?: (id: SiteId) => boolean;
  readonly routes: readonly PeerRoute[];
  readonly rawRoutes: readonly RawRoute[];
  /** @default all addresses */
  readonly host?: string;
  /** 0 for any that is free. Absent: no port is opened, and only connections given to `serve` are served. */
  readonly port?: number;
  readonly limits?: Partial<PeerLimits>;
  readonly peerMetrics?: PeerMetrics;
}

/**
 * Serves the agents' protocol, the proxy and whatever else is mounted, to callers that have proven a key: on its own port,
 * and on connections that it is given.
 */
export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #limits: PeerLimits;
  readonly #metrics: PeerMetrics;
  readonly #routes: RouteTable;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #sharedWatches: SharedWatches;
  /** By their addresses: keys cost nothing. */
  readonly #strangers: PeerRates;
  readonly #allStrangers: TokenBucket;
  readonly #atOnce: RequestsAtOnce;
  readonly #rates: PeerRates;
  #listening: Promise<AddressInfo | undefined> | undefined;

  constructor(options: PeerServerOptions) {
    this.#options = options;
    this.#limits = { ...defaultPeerLimits, ...options.limits };
    this.#metrics = options.peerMetrics ?? noPeerMetrics;
    this.#routes = new RouteTable(options.routes, options.rawRoutes);
    this.#connections = new Connections(this.#limits, this.#metrics);
    const { strangersBurst, strangersPerSecond, allStrangersBurst, allStrangersPerSecond } = this.#limits;
    const { clock } = options;
    this.#strangers = new PeerRates({ burst: strangersBurst, perSecond: strangersPerSecond, clock });
    this.#allStrangers = new TokenBucket({ burst: allStrangersBurst, perSecond: allStrangersPerSecond, clock });
    this.#atOnce = new RequestsAtOnce(this.#limits.requestsPerPeer);
    const { questionsBurst, questionsPerSecond } = this.#limits;
    this.#rates = new PeerRates({ burst: questionsBurst, perSecond: questionsPerSecond, clock: options.clock });
    this.#sharedWatches = new SharedWatches({
      ...options,
      limits: this.#limits,
      metrics: this.#metrics,
      handle: (request, response, caller) => void this.#handle(request, response, caller),
    });
    this.#server = this.#makeServer();
  }

  /** Opens the port, if there is to be one; where it can be reached. */
  listen(): Promise<AddressInfo | undefined> {
    this.#listening ??= this.#listen();
    return this.#listening;
  }

  /** Serves a connection that came about in another way. */
  serve(socket: Duplex, caller: PeerIdentity): void {
    if (!this.#connections.add(socket, caller, this.#options.siteOf(caller.id) !== undefined)) return;
    this.#server.emit("secureConnection", socket);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.listen();
    await aborted(signal);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#connections.destroy();
    await closed;
  }

  #makeServer(): Server {
    const { headerBytes, headersMs, requestMs, idleMs, handshakeMs } = this.#limits;
    const server = createServer({
      ...this.#options.tls.serverOptions(),
      ALPNProtocols: [HTTP_2, "http/1.1"],
      handshakeTimeout: handshakeMs,
      maxHeaderSize: headerBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(headersMs, 1_000),
      noDelay: true,
    });
    this.#options.tls.attach(server);
    server.maxHeadersCount = 64;
    // Those that are still shaking hands count too.
    server.maxConnections = this.#limits.connections;
    // Node's own listeners read requests of HTTP/1.1. They come second, so that no byte is read of who may not connect.
    const overHttp1 = server.listeners("secureConnection");
    server.removeAllListeners("secureConnection");
    server.on("secureConnection", (socket: TLSSocket) => {
      this.#connections.settle(socket);
      this.#identify(socket);
      if (socket.alpnProtocol === HTTP_2) return this.#share(socket);
      for (const listener of overHttp1) listener.call(server, socket);
      readAsStream(socket);
    });
    server.on("request", (request, response) => {
      void this.#handle(request, response, this.#connections.get(request.socket));
    });
    server.on("upgrade", (request, socket, head) => void this.#upgrade(request, socket, head));
    // Node's own listener would have it answered over HTTP, which waits for a handshake that never comes: it would stay open for good.
    server.removeAllListeners("tlsClientError");
    server.on("tlsClientError", (error: Error, socket: TLSSocket) => {
      socket.destroy();
      this.#metrics.connectionRefused("Handshake");
      this.#options.logger.debug("a TLS handshake failed", { reason: describeError(error) });
    });
    server.prependListener("connection", (socket: Socket) => this.#connections.begin(socket));
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => this.#malformed(error, socket));
    return server;
  }

  async #listen(): Promise<AddressInfo | undefined> {
    const { host, port } = this.#options;
    if (port === undefined) {
      // Node watches over slow connections only from then on.
      this.#server.emit("listening");
      return undefined;
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    return this.#server.address() as AddressInfo;
  }

  #identify(socket: TLSSocket): void {
    if (this.#connections.has(socket)) return;
    try {
      const identity = this.#options.tls.identify(socket);
      this.#connections.add(socket, identity, this.#options.siteOf(identity.id) !== undefined);
    } catch (error) {
      const reason = (error as { reason?: unknown }).reason;
      this.#metrics.connectionRefused(typeof reason === "string" ? reason : "Unidentified");
      this.#options.logger.debug("a caller has not proven who it is", { reason: describeError(error) });
      this.#connections.addUnidentified(socket, describeError(error));
    }
  }

  /** HTTP/2 is for peers' watches; nobody else has a use for it. */
  #share(socket: TLSSocket): void {
    const caller = this.#connections.get(socket);
    // It was one too many, and is ended.
    if (caller === undefined) return;
    if (typeof caller === "object" && this.#options.siteOf(caller.id) !== undefined) {
      this.#sharedWatches.serve(socket, caller);
      return;
    }
    this.#metrics.connectionRefused("SharedByStranger");
    socket.destroy();
  }

  #caller(known: PeerIdentity | string | undefined): Caller {
    if (known === undefined || typeof known === "string")
      throw refused(401, "Unidentified", known ?? "the caller has not proven who it is");
    const site = this.#options.siteOf(known.id);
    return site === undefined ? known : { ...known, site };
  }

  #admit(caller: Caller, access: RawRoute["access"], { socket }: IncomingMessage): void {
    if (caller.site === undefined) {
      if (access === "parting" && this.#options.isParting?.(caller.id) === true) return;
      if (access !== "stranger")
        throw refused(
          403,
          "NotPaired",
          `the site that was asked does not know the site ${caller.id}, which asked: pair them first`,
        );
      if (!this.#strangers.allow(socket.remoteAddress ?? "") || !this.#allStrangers.tryTake())
        throw refused(429, "TooManyRequests", "too many strangers ask: try again later");
    } else if (access === "consumer" && caller.site.spec?.mayConsume !== true) {
      throw refused(
        403,
        "MayNotConsume",
        `the site that was asked lets the site ${caller.id}, which asked, use nothing of it (mayConsume of its Site there)`,
      );
    }
  }

  async #handle(
    request: IncomingMessage,
    response: ServerResponse,
    known: PeerIdentity | string | undefined,
  ): Promise<void> {
    const started = this.#options.clock.now();
    let route = "none";
    response.once("close", () => {
      this.#metrics.request(route, response.statusCode, (this.#options.clock.now() - started) / 1000);
    });
    try {
      const caller = this.#caller(known);
      const path = pathOf(request);
      const raw = this.#routes.findRaw(path);
      if (raw?.handle !== undefined) {
        route = raw.prefix;
        this.#admit(caller, raw.access, request);
        await raw.handle(request, response, caller);
        return;
      }
      // By the clock that contracts and certificates go by: the other side compares it with its own.
      response.setHeader("date", new Date(started).toUTCString());
      const found = this.#routes.find(request.method ?? "", path);
      const cost = (typeof found === "object" ? found.route.cost : undefined) ?? 1;
      if (caller.site !== undefined && !this.#rates.allow(caller.id, cost + bodyCost(request)))
        throw refused(429, "TooManyRequests", "too much is asked in a short time: ask less often");
      if (found === undefined || found === "wrongMethod") {
        this.#admit(caller, "stranger", request);
        throw found === undefined ? notFound(path) : refused(405, "MethodNotAllowed", "not with this method");
      }
      route = `${found.route.method} ${found.route.path}`;
      this.#admit(caller, found.route.access, request);
      await this.#answer(found.route, { caller, params: found.params }, request, response);
    } catch (error) {
      this.#refuse(response, error, route);
    }
  }

  async #answer(
    route: PeerRoute,
    call: { caller: Caller; params: Readonly<Record<string, string>> },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const over = this.#atOnce.begin(call.caller.id);
    if (over === undefined) throw refused(429, "TooManyRequests", "too much is asked at once: wait for the answers");
    const gone = new AbortController();
    const onClose = () => gone.abort();
    response.once("close", onClose);
    try {
      const body = await readJson(request);
      const answer = await route.handle({ ...call, body, signal: gone.signal });
      response.off("close", onClose);
      sendJson(response, 200, answer);
    } finally {
      over();
    }
  }

  #refuse(response: ServerResponse, error: unknown, route: string): void {
    const refusal = this.#refusalOf(error, route);
    sendRefusal(response, refusal.statusCode, refusal.refusal, refusal.statusCode === 429 ? 1 : undefined);
  }

  #refusalOf(error: unknown, route: string): PeerRefused {
    if (error instanceof PeerRefused) return error;
    this.#options.logger.error("a peer's request failed", { route, reason: describeError(error) });
    // What went wrong inside is nobody's business but the owner's.
    return refused(500, "Internal", "the site could not answer: its agent's log says why");
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", (error) => {
      this.#options.logger.debug("an upgraded connection broke", { reason: describeError(error) });
    });
    let route = "none";
    try {
      const caller = this.#caller(this.#connections.get(request.socket));
      const path = pathOf(request);
      const raw = this.#routes.findRaw(path);
      if (raw?.upgrade === undefined) {
        this.#admit(caller, "stranger", request);
        throw raw === undefined ? notFound(path) : refused(400, "NoUpgrade", "this path has no upgrade");
      }
      route = raw.prefix;
      this.#admit(caller, raw.access, request);
      await raw.upgrade(request, socket, head, caller);
      this.#metrics.request(route, 101, 0);
    } catch (error) {
      const { statusCode, refusal } = this.#refusalOf(error, route);
      this.#metrics.request(route, statusCode, 0);
      refuseUpgrade(socket, statusCode, refusal);
    }
  }

  #malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    this.#metrics.request("none", 400, 0);
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const [status, code] =
      error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ([408, "TooSlow"] as const)
        : error.code === "HPE_HEADER_OVERFLOW"
          ? ([431, "HeadersTooLarge"] as const)
          : ([400, "Malformed"] as const);
    refuseUpgrade(socket, status, { code, message: `no HTTP request that this site takes (${error.code ?? "?"})` });
    socket.destroySoon?.();
  }
}

const HTTP_2 = "h2";

declare module "node:stream" {
  interface Duplex {
    /** Of sockets: ends when all is written. */
    destroySoon?(): void;
  }
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? "";
  const question = url.indexOf("?");
  return question === -1 ? url : url.slice(0, question);
}

function notFound(path: string): PeerRefused {
  return refused(404, "NotFound", `there is nothing at ${path.slice(0, 256)}`);
}
