import { createSecureContext, type SecureContext } from "node:tls";
import { buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from "undici";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";

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
  pool(credential: Credential | undefined): Dispatcher;
  streamLane(credential: Credential | undefined): StreamLane;
  /** Lets requests that were sent end; streams are the caller's to end. */
  close(): Promise<void>;
}

// An API server keeps idle connections for 90 s; giving them up well before that avoids writing to a dying one.
const KEEP_ALIVE_MS = 30_000;

/** Connections to a cluster that follow the certificate of a credential plugin when it changes. */
export class ClusterConnections implements Connections {
  readonly #config: ClusterConfig;
  readonly #origin: string;
  readonly #options: Required<ConnectionOptions>;
  #current: Lanes | undefined;
  readonly #closing = new Set<Promise<void>>();

  constructor(config: ClusterConfig, origin: string, options: ConnectionOptions) {
    this.#config = config;
    this.#origin = origin;
    this.#options = { connections: options.connections ?? 32, connectTimeoutMs: options.connectTimeoutMs ?? 10_000 };
  }

  pool(credential: Credential | undefined): Dispatcher {
    return this.#lanes(credential).pool;
  }

  streamLane(credential: Credential | undefined): StreamLane {
    const dispatcher = this.#lanes(credential).openStream();
    return { dispatcher, release: () => this.#track(dispatcher.destroy()) };
  }

  async close(): Promise<void> {
    if (this.#current !== undefined) this.#track(this.#current.pool.close());
    await Promise.allSettled(this.#closing);
  }

  #lanes(credential: Credential | undefined): Lanes {
    const cert = credential?.cert ?? this.#config.tls.cert;
    const key = credential?.key ?? this.#config.tls.key;
    const current = this.#current;
    if (current !== undefined && current.cert === cert && current.key === key) return current;
    if (current !== undefined) this.#track(current.pool.close());
    const { ca, serverName, insecureSkipVerify } = this.#config.tls;
    const secureContext = this.#origin.startsWith("https:") ? createSecureContext({ ca, cert, key }) : undefined;
    const tls: TlsOptions = {
      secureContext,
      servername: serverName,
      rejectUnauthorized: insecureSkipVerify !== true,
      timeout: this.#options.connectTimeoutMs,
      allowH2: false,
    };
    const lanes = this.#config.proxy === undefined ? this.#direct(tls) : this.#proxied(tls, this.#config.proxy);
    this.#current = { cert, key, ...lanes };
    return this.#current;
  }

  #direct(tls: TlsOptions): Pick<Lanes, "pool" | "openStream"> {
    // Shared, so that a new watch resumes the TLS session of the last connection.
    const connect = buildConnector(tls);
    const options = { connect, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
    return {
      pool: new Pool(this.#origin, { ...options, connections: this.#options.connections }),
      openStream: () => new Client(this.#origin, options),
    };
  }

  #proxied(tls: TlsOptions, uri: string): Pick<Lanes, "pool" | "openStream"> {
    const options = { uri, requestTls: tls, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
    return {
      pool: new ProxyAgent({ ...options, connections: this.#options.connections }),
      openStream: () => new ProxyAgent({ ...options, connections: 1 }),
    };
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

  pool(): Dispatcher {
    return this.#dispatcher;
  }

  streamLane(): StreamLane {
    return { dispatcher: this.#dispatcher, release() {} };
  }

  async close(): Promise<void> {}
}

interface Lanes {
  cert: string | undefined;
  key: string | undefined;
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
