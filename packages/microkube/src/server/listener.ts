import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { readAsStream } from "@fjord/kube";
import type { CertificatePair } from "../authentication/index.ts";
import { StatusError } from "../status-error.ts";
import type { ApiServer } from "./api-server.ts";
import { Exchange } from "./exchange.ts";

export interface ListenerOptions {
  readonly api: ApiServer;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly certificate: CertificatePair;
  /** In PEM: whose certificates clients are asked for. */
  readonly clientAuthorities: readonly string[];
}

/** The longest that a client may take to say what it wants. */
const HEADERS_TIMEOUT_MS = 30_000;
/** As long as a client that is still sending what nobody will read has to read the answer. */
const LINGER_MS = 500;

/** The server's port. TLS alone asks for a certificate; whether it holds is for authentication to say. */
export class Listener {
  readonly #server: Server;
  readonly #open = new Set<Duplex>();
  readonly #refused = new WeakSet<Duplex>();
  readonly #host: string;
  readonly #port: number;

  constructor({ api, host, port, certificate, clientAuthorities }: ListenerOptions) {
    this.#host = host;
    this.#port = port;
    const http = {
      noDelay: true,
      keepAlive: true,
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: 0,
    };
    const tls = {
      ...certificate,
      ca: [...clientAuthorities],
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: ["http/1.1"],
    };
    this.#server = createHttps({ ...http, ...tls, maxHeaderSize: 64 * 1024 }, api.handle as RequestListener);
    this.#server.keepAliveTimeout = 180_000;
    this.#server.maxRequestsPerSocket = 0;
    this.#server.on("upgrade", api.upgrade);
    this.#server.on("connection", (socket) => this.#track(socket));
    this.#server.on("secureConnection", (socket: Duplex) => {
      readAsStream(socket);
      this.#track(socket);
    });
    this.#server.on("clientError", (error, socket) => this.#refuse(error, socket));
    this.#server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
      const error = new StatusError(417, "BadRequest", "the request expects what nobody does");
      void new Exchange(request, response).sendError(error);
    });
    // Both are answers to clients, not troubles of ours.
    this.#server.on("tlsClientError", () => {});
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, this.#host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more, lets requests under way end for a moment, then cuts. */
  async close(graceMs = 500): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const cut = setTimeout(() => {
      for (const socket of this.#open) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(cut);
  }

  #track(socket: Duplex): void {
    this.#open.add(socket);
    socket.on("close", () => this.#open.delete(socket));
    socket.on("error", () => socket.destroy());
  }

  /** What is no HTTP gets an answer that is: a Status, and the end of the connection. */
  #refuse(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
    // Of what comes after it, which is no HTTP either, nobody need hear.
    if (this.#refused.has(socket)) return;
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    this.#refused.add(socket);
    socket.end(refusal(error));
    // Closed with bytes that nobody has read, a connection is reset, and the answer lost.
    const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(cut));
  }
}

function refusal(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): string {
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? new StatusError(431, "BadRequest", "the request's headers are too large")
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? new StatusError(408, "Timeout", "the request was not sent in time")
        : new StatusError(400, "BadRequest", "the request is not valid HTTP");
  const body = `${JSON.stringify(status.status)}\n`;
  const head = `HTTP/1.1 ${status.code} Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
  const isHead = error.rawPacket?.subarray(0, 5).toString() === "HEAD ";
  return isHead ? head : head + body;
}
