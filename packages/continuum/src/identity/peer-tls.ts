import type { X509Certificate } from "node:crypto";
import { constants } from "node:crypto";
import { isIP } from "node:net";
import {
  connect,
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from "node:tls";
import { type Clock, describeError, type Logger, onAbort, sleep } from "@fjord/base";
import { HostNames } from "../host-names.ts";
import type { PeerIdentity, SiteId } from "../site-identity.ts";
import { checkEndpoint } from "./endpoint.ts";
import { CertificateRefused, PeerUnreachable } from "./errors.ts";
import type { RefusalCounter } from "./refusal-counter.ts";
import { identifyCertificate, siteCertificate } from "./site-certificate.ts";
import type { SiteKey } from "./site-key.ts";

export interface PeerTlsOptions {
  readonly key: SiteKey;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a certificate is good; it is renewed after two thirds. @default 7 days */
  readonly lifetimeMs?: number;
  /** Told of each certificate that was refused, by reason. */
  readonly refused?: RefusalCounter;
}

export interface ConnectOptions {
  readonly signal?: AbortSignal;
  /** For all of it: name, connection, handshake. @default 10 s */
  readonly timeoutMs?: number;
  /** What may be spoken over it, the best first. @default HTTP/1.1 */
  readonly protocols?: readonly string[];
}

/** What of a server is needed to give it new certificates while it runs. */
type RotatingServer = Pick<Server, "setSecureContext" | "once">;

const WEEK_MS = 7 * 24 * 3_600_000;
const BACKDATED_MS = 3_600_000;
/** A laptop that sleeps has its timers late: the wall clock is looked at this often. */
const LOOK_MS = 10 * 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 15_000;
const HTTPS_PORT = 443;
const HTTP_1 = ["http/1.1"];

/** Without tickets: a session taken up again would not prove the key anew. */
const PROTOCOL: SecureContextOptions = {
  minVersion: "TLSv1.3",
  maxVersion: "TLSv1.3",
  secureOptions: constants.SSL_OP_NO_TICKET,
};

/**
 * TLS between agents. Both ends show a certificate that their own key has signed, and the id of that key is all that is
 * believed. Certificates are renewed while connections stay.
 */
export class PeerTls {
  readonly #options: PeerTlsOptions;
  readonly #servers = new Set<RotatingServer>();
  readonly #names = new HostNames();
  /** Of a connection that it has made, Node gives the other side's certificate once and never again. */
  readonly #identified = new WeakMap<TLSSocket, PeerIdentity>();
  #current:
    | { readonly cert: string; readonly context: SecureContext; readonly from: number; readonly renewAt: number }
    | undefined;

  constructor(options: PeerTlsOptions) {
    this.#options = options;
  }

  get identity(): PeerIdentity {
    return this.#options.key;
  }

  /** The certificate in use, in PEM. */
  get certificate(): string {
    return this.#fresh().cert;
  }

  /** For `https.createServer` or `tls.createServer`; then `attach` the server. `identify` does the checking. */
  serverOptions(): TlsOptions {
    return {
      ...this.#contextOptions(),
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
    };
  }

  /** Gives the server each new certificate until it closes. Connections that are open stay. */
  attach(server: RotatingServer): void {
    this.#servers.add(server);
    server.once("close", () => this.#servers.delete(server));
    server.setSecureContext(this.#contextOptions());
  }

  /** Keeps the certificate good until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const { renewAt } = this.#fresh();
      await sleep(clock, Math.min(Math.max(renewAt - clock.now(), 1), LOOK_MS), signal);
    }
  }

  /** Who is at the other end, as its certificate proves. Throws `CertificateRefused`. */
  identify(socket: TLSSocket): PeerIdentity {
    const known = this.#identified.get(socket);
    if (known !== undefined) return known;
    try {
      const identity = this.#check(socket);
      this.#identified.set(socket, identity);
      return identity;
    } catch (error) {
      if (error instanceof CertificateRefused) this.#options.refused?.inc({ reason: error.reason });
      throw error;
    }
  }

  /**
   * A connection to the site of that id and no other; nothing is sent over it before that is proven. Throws
   * `CertificateRefused` for another one, and `PeerUnreachable` where there is none.
   */
  async connect(endpoint: string, expected: SiteId, options: ConnectOptions = {}): Promise<TLSSocket> {
    const url = new URL(checkEndpoint(endpoint));
    const socket = await this.#handshake(url, endpoint, options);
    try {
      const { id } = this.identify(socket);
      if (id === expected) return socket;
      this.#options.refused?.inc({ reason: "WrongKey" });
      throw new CertificateRefused("WrongKey", `${endpoint} is the site ${id}, and ${expected} was expected`);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  #check(socket: TLSSocket): PeerIdentity {
    if (socket.isSessionReused()) {
      throw new CertificateRefused("SessionReused", "it took up an earlier session instead of proving its key");
    }
    let certificate: X509Certificate | undefined;
    try {
      certificate = socket.getPeerX509Certificate();
    } catch (error) {
      throw new CertificateRefused("Malformed", "its certificate cannot be read", { cause: error });
    }
    if (certificate === undefined) throw new CertificateRefused("CertificateMissing", "it has shown no certificate");
    return identifyCertificate(certificate, this.#options.clock.now());
  }

  #handshake(
    url: URL,
    endpoint: string,
    { signal, timeoutMs = CONNECT_TIMEOUT_MS, protocols = HTTP_1 }: ConnectOptions,
  ): Promise<TLSSocket> {
    signal?.throwIfAborted();
    const { context } = this.#fresh();
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const socket = connect({
      ...PROTOCOL,
      host,
      port: Number(url.port) || HTTPS_PORT,
      secureContext: context,
      rejectUnauthorized: false,
      ALPNProtocols: [...protocols],
      servername: isIP(host) === 0 ? host : "",
      lookup: this.#names.lookup,
    });
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown) => {
        finish();
        socket.on("error", () => {}).destroy();
        reject(reason);
      };
      const unreachable = (cause: unknown) =>
        fail(new PeerUnreachable({ endpoint, reason: describeError(cause) }, { cause }));
      const late = () => fail(new PeerUnreachable({ endpoint, reason: `no connection within ${timeoutMs} ms` }));
      const closed = () => unreachable(new Error("the connection was closed during the handshake"));
      const cancelTimer = this.#options.clock.after(timeoutMs, late);
      const cancelAbort = signal === undefined ? () => {} : onAbort(signal, () => fail(signal.reason));
      const finish = () => {
        cancelTimer();
        cancelAbort();
        socket.off("error", unreachable).off("close", closed);
      };
      socket.once("error", unreachable).once("close", closed);
      socket.once("secureConnect", () => {
        finish();
        resolve(socket);
      });
    });
  }

  /** The certificate in use, made anew where it is due; whoever runs nothing has a good one all the same. */
  #fresh() {
    const { key, clock, logger, lifetimeMs = WEEK_MS } = this.#options;
    const now = clock.now();
    // With the clock set back the one in use would not be valid yet in the eyes of others.
    const isGood = this.#current !== undefined && now >= this.#current.from && now < this.#current.renewAt;
    if (this.#current !== undefined && isGood) return this.#current;
    const first = this.#current === undefined;
    const from = now - BACKDATED_MS;
    const cert = siteCertificate(key, { from, to: now + lifetimeMs });
    const context = createSecureContext({ ...PROTOCOL, cert, key: key.toPem() });
    this.#current = { cert, context, from, renewAt: now + (lifetimeMs * 2) / 3 };
    for (const server of this.#servers) server.setSecureContext(this.#contextOptions());
    if (!first)
      logger.info("the certificate for peers was renewed", { until: new Date(now + lifetimeMs).toISOString() });
    return this.#current;
  }

  #contextOptions(): SecureContextOptions {
    const { cert } = this.#fresh();
    return { ...PROTOCOL, cert, key: this.#options.key.toPem() };
  }
}
