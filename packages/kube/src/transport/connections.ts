import type { SecureContext } from "node:tls";
import { describeError } from "@fjord/base";
import type { Dispatcher } from "undici";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import { UnusableCertificate } from "./errors.ts";

export interface ConnectionOptions {
  /** Connections that requests share; watches and streams have their own. @default 32 */
  connections?: number;
  /** @default 10000 */
  connectTimeoutMs?: number;
}

/** A dispatcher for one stream, and how to give it back. */
export interface StreamLane {
  dispatcher: Dispatcher;
  release(): void;
}

/** Where requests go: a pool for the short ones and a connection for each stream, under the current certificate. */
export interface Connections {
  /** For short requests; watches never hold one of its connections. */
  pool(credential: Credential | undefined): Promise<Dispatcher>;
  streamLane(credential: Credential | undefined): Promise<StreamLane>;
  /** Lets requests that were sent end; streams are the caller's to end. */
  close(): Promise<void>;
  /** Ends those that are left at once. */
  destroy(reason: Error): void;
}

// An API server keeps idle connections for 90 s; giving them up well before that avoids writing to a dying one.
const KEEP_ALIVE_MS = 30_000;

/** Connections to a cluster that follow the certificate of a credential plugin when it changes. */
export class ClusterConnections implements Connections {
  readonly #config: ClusterConfig;
  readonly #origin: string;
  readonly #options: Required<ConnectionOptions>;
  #current: { cert: string | undefined; key: string | undefined; lanes: Promise<Lanes> } | undefined;
  readonly #closing = new Set<Promise<void>>();
  /** Open ones, those that only end what they began among them. */
  readonly #pools = new Set<Dispatcher>();

  constructor(config: ClusterConfig, origin: string, options: ConnectionOptions) {
    this.#config = config;
    this.#origin = origin;
    this.#options = { connections: options.connections ?? 32, connectTimeoutMs: options.connectTimeoutMs ?? 10_000 };
  }

  async pool(credential: Credential | undefined): Promise<Dispatcher> {
    return (await this.#lanes(credential)).pool;
  }

  async streamLane(credential: Credential | undefined): Promise<StreamLane> {
    const dispatcher = (await this.#lanes(credential)).openStream();
    return { dispatcher, release: () => this.#track(dispatcher.destroy()) };
  }

  async close(): Promise<void> {
    this.#retire();
    await Promise.allSettled(this.#closing);
  }

  destroy(reason: Error): void {
    for (const pool of this.#pools) this.#track(pool.destroy(reason));
  }

  #lanes(credential: Credential | undefined): Promise<Lanes> {
    const cert = credential?.cert ?? this.#config.tls.cert;
    const key = credential?.key ?? this.#config.tls.key;
    if (this.#current?.cert !== cert || this.#current?.key !== key) this.#retire();
    this.#current ??= { cert, key, lanes: this.#open(cert, key) };
    return this.#current.lanes;
  }

  /** Lets the requests under way end with the certificate that they began with. */
  #retire(): void {
    if (this.#current !== undefined) this.#track(this.#current.lanes.then(({ pool }) => this.#closeSoon(pool)));
    this.#current = undefined;
  }

  async #open(cert: string | undefined, key: string | undefined): Promise<Lanes> {
    const { ca, serverName, insecureSkipVerify } = this.#config.tls;
    // Loaded with the first request: whoever only imports this package pays for nothing.
    const { createSecureContext } = await import("node:tls");
    let secureContext: SecureContext | undefined;
    try {
      if (this.#origin.startsWith("https:")) secureContext = createSecureContext({ ca, cert, key });
    } catch (cause) {
      throw new UnusableCertificate({ server: this.#config.server, reason: describeError(cause) }, { cause });
    }
    const tls: TlsOptions = {
      secureContext,
      servername: serverName,
      rejectUnauthorized: insecureSkipVerify !== true,
      timeout: this.#options.connectTimeoutMs,
      allowH2: false,
    };
    const { proxy } = this.#config;
    const lanes = proxy === undefined ? await this.#direct(tls) : await this.#proxied(tls, proxy);
    this.#pools.add(lanes.pool);
    return lanes;
  }

  async #direct(tls: TlsOptions): Promise<Lanes> {
    const { undiciParts } = await import("./undici-parts.ts");
    const { buildConnector, Client, Pool } = undiciParts();
    // Shared, so that a new watch resumes the TLS session of the last connection.
    const connect = buildConnector(tls);
    const options = { connect, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
    return {
      pool: new Pool(this.#origin, { ...options, connections: this.#options.connections }),
      openStream: () => new Client(this.#origin, options),
    };
  }

  async #proxied(tls: TlsOptions, uri: string): Promise<Lanes> {
    const { ProxyAgent } = await import("undici");
    const options = { uri, requestTls: tls, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
    return {
      pool: new ProxyAgent({ ...options, connections: this.#options.connections }),
      openStream: () => new ProxyAgent({ ...options, connections: 1 }),
    };
  }

  /** Whoever was handed the pool a moment ago still gets its request in. */
  async #closeSoon(pool: Dispatcher): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await pool.close();
    this.#pools.delete(pool);
  }

  #track(closing: Promise<void>): void {
    this.#closing.add(closing);
    const done = () => this.#closing.delete(closing);
    closing.then(done, done);
  }
}

/** Everything goes through one dispatcher that someone else made, and will close. */
export class GivenConnections implements Connections {
  readonly #dispatcher: Dispatcher;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  async pool(): Promise<Dispatcher> {
    return this.#dispatcher;
  }

  async streamLane(): Promise<StreamLane> {
    return { dispatcher: this.#dispatcher, release() {} };
  }

  async close(): Promise<void> {}

  destroy(): void {}
}

interface Lanes {
  pool: Dispatcher;
  openStream(): Dispatcher;
}

interface TlsOptions {
  secureContext: SecureContext | undefined;
  servername: string | undefined;
  rejectUnauthorized: boolean;
  timeout: number;
  allowH2: false;
}
