import { createSecureContext } from "node:tls";
import { buildConnector, Client, Pool, ProxyAgent } from "undici";
// An API server keeps idle connections for 90 s; giving them up well before that avoids writing to a dying one.
const KEEP_ALIVE_MS = 30000;
/** Connections to a cluster that follow the certificate of a credential plugin when it changes. */
export class ClusterConnections {
    #config;
    #origin;
    #options;
    #current;
    #closing = new Set();
    constructor(config, origin, options) {
        this.#config = config;
        this.#origin = origin;
        this.#options = { connections: options.connections ?? 32, connectTimeoutMs: options.connectTimeoutMs ?? 10000 };
    }
    pool(credential) {
        return this.#lanes(credential).pool;
    }
    streamLane(credential) {
        const dispatcher = this.#lanes(credential).openStream();
        return { dispatcher, release: () => this.#track(dispatcher.destroy()) };
    }
    async close() {
        if (this.#current !== undefined)
            this.#track(this.#current.pool.close());
        await Promise.allSettled(this.#closing);
    }
    #lanes(credential) {
        const cert = credential?.cert ?? this.#config.tls.cert;
        const key = credential?.key ?? this.#config.tls.key;
        const current = this.#current;
        if (current !== undefined && current.cert === cert && current.key === key)
            return current;
        if (current !== undefined)
            this.#track(current.pool.close());
        const { ca, serverName, insecureSkipVerify } = this.#config.tls;
        const secureContext = this.#origin.startsWith("https:") ? createSecureContext({ ca, cert, key }) : undefined;
        const tls = {
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
    #direct(tls) {
        // Shared, so that a new watch resumes the TLS session of the last connection.
        const connect = buildConnector(tls);
        const options = { connect, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
        return {
            pool: new Pool(this.#origin, { ...options, connections: this.#options.connections }),
            openStream: () => new Client(this.#origin, options),
        };
    }
    #proxied(tls, uri) {
        const options = { uri, requestTls: tls, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
        return {
            pool: new ProxyAgent({ ...options, connections: this.#options.connections }),
            openStream: () => new ProxyAgent({ ...options, connections: 1 }),
        };
    }
    #track(closing) {
        this.#closing.add(closing);
        const done = () => this.#closing.delete(closing);
        closing.then(done, done);
    }
}
/** Everything goes through one dispatcher that someone else made, and will close. */
export class GivenConnections {
    #dispatcher;
    constructor(dispatcher) {
        this.#dispatcher = dispatcher;
    }
    pool() {
        return this.#dispatcher;
    }
    streamLane() {
        return { dispatcher: this.#dispatcher, release() { } };
    }
    async close() { }
}
