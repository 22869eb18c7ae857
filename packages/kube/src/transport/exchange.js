import { createGunzip } from "node:zlib";
import { ByteStream } from "./byte-stream.ts";
import { ConnectionError } from "./errors.ts";
import { headerValue, } from "./http.ts";
/** Sends a request and collects the answer. Rejects with `ConnectionError`, or with the signal's reason. */
export function exchange(dispatcher, request, options) {
    return new Promise((resolve, reject) => {
        start(dispatcher, request, options, new Exchange(request, options, resolve, reject));
    });
}
/** Sends a request and hands over its body as it arrives. */
export function streamingExchange(dispatcher, request, options, clock) {
    return new Promise((resolve, reject) => {
        start(dispatcher, request, options, new StreamingExchange(request, options, resolve, reject, clock));
    });
}
function start(dispatcher, request, options, handler) {
    if (request.signal?.aborted) {
        handler.fail(request.signal.reason);
        return;
    }
    request.signal?.addEventListener("abort", handler.onAbort, { once: true });
    try {
        dispatcher.dispatch({
            origin: options.origin,
            path: options.path,
            method: request.method,
            headers: options.headers,
            body: request.body ?? null,
            headersTimeout: options.headersTimeoutMs,
            bodyTimeout: options.bodyTimeoutMs,
        }, handler);
    }
    catch (error) {
        handler.fail(error);
    }
}
class Exchange {
    request;
    server;
    resolve;
    reject;
    controller;
    statusCode = 0;
    headers = {};
    #chunks = [];
    #collector;
    #gunzip;
    #sent = false;
    constructor(request, options, resolve, reject) {
        this.request = request;
        this.server = options.origin;
        this.resolve = resolve;
        this.reject = reject;
    }
    onAbort = () => {
        this.fail(this.request.signal?.reason);
        this.controller?.abort(abortError);
    };
    onRequestStart(controller) {
        this.controller = controller;
        if (this.request.signal?.aborted)
            controller.abort(abortError);
        else
            this.#sent = true;
    }
    onResponseStart(_, statusCode, headers) {
        this.statusCode = statusCode;
        this.headers = headers;
        if (isSuccess(statusCode))
            this.#collector = this.request.collector?.();
        if (headerValue(headers, "content-encoding") === "gzip")
            this.#unzip();
    }
    onResponseData(_, chunk) {
        if (this.#gunzip === undefined)
            this.#take(chunk);
        else
            this.#gunzip.write(chunk);
    }
    onResponseEnd() {
        if (this.#gunzip === undefined)
            this.#finish();
        else
            this.#gunzip.end();
    }
    onResponseError(_, error) {
        this.fail(error);
    }
    fail(error) {
        this.detach();
        this.#gunzip?.destroy();
        this.reject(this.describe(error));
    }
    #unzip() {
        this.#gunzip = createGunzip()
            .on("data", (chunk) => this.#take(chunk))
            .on("end", () => this.#finish())
            .on("error", (error) => this.fail(error));
    }
    #take(chunk) {
        if (this.#collector === undefined)
            this.#chunks.push(chunk);
        else
            this.#collector.push(chunk);
    }
    #finish() {
        this.detach();
        const body = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
        this.#chunks = [];
        this.resolve({ statusCode: this.statusCode, headers: this.headers, body, collector: this.#collector });
    }
    detach() {
        this.request.signal?.removeEventListener("abort", this.onAbort);
    }
    /** The signal's own reason for an abort, a `ConnectionError` for all else. */
    describe(cause) {
        if (this.request.signal?.aborted)
            return this.request.signal.reason;
        return new ConnectionError({ action: this.request.action, server: this.server, cause, sent: this.#sent });
    }
}
class StreamingExchange extends Exchange {
    #clock;
    #idleTimeoutMs;
    #stream;
    constructor(request, options, resolve, reject, clock) {
        super(request, options, resolve, reject);
        this.#clock = clock;
        this.#idleTimeoutMs = request.idleTimeoutMs;
    }
    onResponseStart(controller, statusCode, headers) {
        super.onResponseStart(controller, statusCode, headers);
        if (!isSuccess(statusCode))
            return;
        this.#stream = new ByteStream({
            source: {
                pause: () => controller.pause(),
                resume: () => controller.resume(),
                cancel: () => {
                    this.detach();
                    controller.abort(abortError);
                },
            },
            clock: this.#clock,
            idleTimeoutMs: this.#idleTimeoutMs,
            idleError: (ms) => this.describe(new Error(`nothing arrived for ${ms / 1000} s`)),
        });
        this.resolve({ statusCode, headers, body: noBytes, stream: this.#stream });
    }
    onResponseData(controller, chunk) {
        if (this.#stream === undefined)
            super.onResponseData(controller, chunk);
        else
            this.#stream.push(chunk);
    }
    onResponseEnd() {
        if (this.#stream === undefined)
            super.onResponseEnd();
        else {
            this.detach();
            this.#stream.end();
        }
    }
    fail(error) {
        super.fail(error);
        const reason = this.describe(error);
        if (this.request.signal?.aborted)
            this.#stream?.abort(reason);
        else
            this.#stream?.fail(reason);
    }
}
function isSuccess(statusCode) {
    return statusCode >= 200 && statusCode < 300;
}
const noBytes = Buffer.alloc(0);
// undici wants an error to end a connection with; nobody sees this one.
const abortError = Object.assign(new Error("the request was given up"), { name: "AbortError" });
