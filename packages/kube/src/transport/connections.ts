import type { Duplex } from "node:stream";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import type { Connect } from "./dial.ts";
import type { ConnectionPool, PoolOptions } from "./pool.ts";
import type { Wire } from "./wire.ts";

export interface ConnectionOptions {
  /** Connections that requests share; watches and streams have their own. @default 32 */
  connections?: number;
  /**
   * Watches share connections by HTTP/2, if the server speaks it: less memory where there are many, and more where there are few
   * (docs/decisions/0040). @default false
   */
  shareWatches?: boolean;
  /** For all of it: the way through a proxy and TLS too. @default 10000 */
  connectTimeoutMs?: number;
  /**
   * Gives connections instead of those that we would make, for instance through a tunnel. What it gives is ready for HTTP:
   * whoever gives it has made sure who is at the other end. TLS settings and proxy of the configuration are not used then.
   * Where `shareWatches` is set it is told which protocols will do, the best first (`Connect`).
   */
  connect?: Connect;
  /** The same for what nobody can begin again where it was: logs, exec, attach and port-forward. @default `connect` */
  connectLasting?: (signal: AbortSignal) => Duplex | Promise<Duplex>;
}

/** A wire for one stream, and how to give it back. */
export interface StreamLane {
  wire: Wire;
  release(): void;
}

/** Where requests go: a pool for the short ones and a connection for each stream, under the current certificate. */
export interface Connections {
  /** For short requests; watches never hold one of its connections. */
  pool(credential: Credential | undefined): Promise<Wire>;
  /** `lasting`: over a connection of `connectLasting`. */
  streamLane(credential: Credential | undefined, lasting?: boolean): Promise<StreamLane>;
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
  readonly #options: ConnectionOptions;
  #current: { cert: string | undefined; key: string | undefined; lanes: Promise<Lanes> } | undefined;
  readonly #closing = new Set<Promise<void>>();
  /** Open ones, those that only end what they began among them. */
  readonly #pools = new Set<ConnectionPool>();

  constructor(config: ClusterConfig, options: ConnectionOptions) {
    this.#config = config;
    this.#options = options;
  }

  async pool(credential: Credential | undefined): Promise<Wire> {
    return (await this.#lanes(credential)).pool;
  }

  async streamLane(credential: Credential | undefined, lasting = false): Promise<StreamLane> {
    return (await this.#lanes(credential)).openStream(lasting);
  }

  async close(): Promise<void> {
    this.#retire();
    await Promise.allSettled(this.#closing);
  }

  destroy(reason: Error): void {
    for (const pool of this.#pools) pool.destroy(reason);
  }

  #lanes(credential: Credential | undefined): Promise<Lanes> {
    const cert = credential?.cert ?? this.#config.tls.cert;
    const key = credential?.key ?? this.#config.tls.key;
    if (this.#current?.cert !== cert || this.#current?.key !== key) this.#retire();
    this.#current ??= { cert, key, lanes: this.#open(credential) };
    return this.#current.lanes;
  }

  /** Lets the requests under way end with the certificate that they began with. */
  #retire(): void {
    if (this.#current !== undefined) this.#track(this.#current.lanes.then(({ pool }) => this.#closeSoon(pool)));
    this.#current = undefined;
  }

  async #open(credential: Credential | undefined): Promise<Lanes> {
    // Loaded with the first request: whoever only imports this package pays for nothing.
    const { ConnectionPool } = await import("./pool.ts");
    const { clusterConnect, plainProxy } = await import("./dial.ts");
    const { connections = 32, connectTimeoutMs = 10_000, connect, connectLasting, shareWatches } = this.#options;
    const { proxy, server } = this.#config;
    const { protocol, origin, host } = new URL(server);
    const plain = connect === undefined && proxy !== undefined && protocol === "http:" ? plainProxy(proxy) : undefined;
    const options = {
      // One for all, so that a new watch resumes the TLS session of the last connection.
      connect: connect ?? plain?.connect ?? clusterConnect(this.#config, credential),
      headers: plain?.headers ?? {},
      pathPrefix: plain === undefined ? "" : origin,
      host,
      connectTimeoutMs,
    };
    const pool = new ConnectionPool({ ...options, connections, keepAliveMs: KEEP_ALIVE_MS });
    this.#pools.add(pool);
    const own = { ...options, connections: 1, keepAliveMs: 0 };
    const lasting = { ...own, connect: connectLasting ?? own.connect };
    const alone = (poolOptions: PoolOptions): StreamLane => {
      const wire = new ConnectionPool(poolOptions);
      return { wire, release: () => wire.destroy(released) };
    };
    // Who watches has listed just before: over that connection nobody has to be dialled.
    const listed = (): PoolOptions => {
      const connection = pool.takeFresh();
      return connection === undefined ? own : { ...own, connect: () => connection };
    };
    if (!shareWatches || protocol !== "https:")
      return { pool, openStream: (lasts) => alone(lasts ? lasting : listed()) };
    const { SharedConnections } = await import("./shared-connections.ts");
    const shared = new SharedConnections({
      connect: options.connect,
      host,
      connectTimeoutMs,
      spare: () => pool.takeFresh(),
      alone: (connection) => new ConnectionPool({ ...own, connect: () => connection }),
    });
    return { pool, openStream: (lasts) => (lasts ? alone(lasting) : shared.lane(released)) };
  }

  /** Whoever was handed the pool a moment ago still gets its request in. */
  async #closeSoon(pool: ConnectionPool): Promise<void> {
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

interface Lanes {
  pool: ConnectionPool;
  openStream(lasts: boolean): StreamLane;
}

// For whatever is still on a stream's connection; nobody hears it once the stream has ended.
const released = new Error("the stream was closed");
