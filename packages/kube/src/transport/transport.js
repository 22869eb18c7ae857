import { sleep, systemClock } from "@fjord/base";
import { ClusterConnections, GivenConnections } from "./connections.ts";
import { ConnectionError, InvalidServerUrl, TransportClosed } from "./errors.ts";
import { exchange, streamingExchange } from "./exchange.ts";
import { retryAfterSeconds, } from "./http.ts";
const RESET_RETRIES = 2;
const RESET_DELAY_MS = 100;
/**
 * HTTP to one API server: credentials, connections, and the repetitions that are always safe. A request the server did
 * not process (429, 401 with a stale credential) is repeated, and so is a read whose connection broke; a write whose
 * outcome is unknown never is.
 */
export class Transport {
    /** The base URL, without a slash at its end. */
    server;
    #config;
    #connections;
    #origin;
    #basePath;
    #headers;
    clock;
    #options;
    #streams = new Set();
    #closing;
    constructor(config, options = {}) {
        const url = parseServer(config.server);
        this.#config = config;
        this.#origin = url.origin;
        this.#basePath = url.pathname.replace(/\/+$/, "");
        this.server = this.#origin + this.#basePath;
        this.clock = options.clock ?? systemClock;
        this.#options = {
            userAgent: options.userAgent ?? "fjord",
            compress: options.compress ?? true,
            headersTimeoutMs: options.headersTimeoutMs ?? 75000,
            bodyTimeoutMs: options.bodyTimeoutMs ?? 60000,
            tooManyRequestsBudgetMs: options.tooManyRequestsBudgetMs ?? 30000,
        };
        this.#headers = { "user-agent": this.#options.userAgent, accept: "application/json", ...config.headers };
        this.#connections =
            options.dispatcher === undefined
                ? new ClusterConnections(config, this.#origin, options)
                : new GivenConnections(options.dispatcher);
    }
    /** Sends a request and gives whatever the server answered, refusals too. */
    async request(request) {
        for (let resets = 0;; resets++) {
            try {
                return await this.#repeat(request, (credential) => {
                    const options = this.#exchangeOptions(request, credential);
                    if (this.#options.compress)
                        options.headers["accept-encoding"] = "gzip";
                    return exchange(this.#connections.pool(credential), request, options);
                });
            }
            catch (error) {
                if (resets === RESET_RETRIES || request.method !== "GET" || !isReset(error))
                    throw error;
                if (resets > 0)
                    await sleep(this.clock, RESET_DELAY_MS, request.signal);
            }
        }
    }
    /** Like `request`, over a connection of its own and with the body as it arrives, if the server agrees. */
    stream(request) {
        return this.#repeat(request, async (credential) => {
            const lane = this.#connections.streamLane(credential);
            let stream;
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
                const response = await streamingExchange(lane.dispatcher, request, options, this.clock);
                stream = response.stream;
                return response;
            }
            finally {
                if (stream === undefined)
                    forget();
                else
                    stream.onClose(forget);
                if (this.#closing !== undefined)
                    cut();
            }
        });
    }
    /** Cuts streams, refuses new requests, and resolves when those under way have ended. */
    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
    async #close() {
        for (const cut of this.#streams)
            cut();
        await this.#connections.close();
    }
    async #repeat(request, send) {
        let rejected = false;
        let waited = 0;
        for (;;) {
            request.signal?.throwIfAborted();
            if (this.#closing !== undefined)
                throw new TransportClosed({ action: request.action, server: this.server });
            const credential = await this.#config.credentials?.current();
            const response = await send(credential);
            if (response.statusCode === 401 && this.#config.credentials !== undefined && !rejected) {
                this.#config.credentials.rejected();
                rejected = true;
            }
            else if (response.statusCode === 429 && request.retryTooManyRequests !== false) {
                const ms = Math.max(100, (retryAfterSeconds(response.headers, this.clock.now()) ?? 1) * 1000);
                waited += ms;
                if (waited > this.#options.tooManyRequestsBudgetMs)
                    return response;
                await sleep(this.clock, ms, request.signal);
            }
            else
                return response;
        }
    }
    #exchangeOptions(request, credential) {
        return {
            origin: this.#origin,
            path: this.#basePath + request.path,
            headers: this.#requestHeaders(request.headers, credential),
            headersTimeoutMs: this.#options.headersTimeoutMs,
            bodyTimeoutMs: this.#options.bodyTimeoutMs,
        };
    }
    #requestHeaders(own, credential) {
        const headers = { ...this.#headers, ...own };
        if (credential?.authorization !== undefined)
            headers.authorization = credential.authorization;
        return headers;
    }
}
function parseServer(server) {
    const url = URL.parse(server);
    if (url === null)
        throw new InvalidServerUrl({ server, reason: "it is not a URL" });
    if (url.protocol !== "https:" && url.protocol !== "http:") {
        throw new InvalidServerUrl({ server, reason: `it begins with ${url.protocol}// instead of https:// or http://` });
    }
    return url;
}
/** The connection broke, as it does when a server restarts or closes an idle connection just as it is used again. */
function isReset(error) {
    if (!(error instanceof ConnectionError))
        return false;
    const code = error.cause?.code;
    return code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET";
}
