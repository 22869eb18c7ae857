import { ConnectionError } from "../transport/errors.ts";
import { retryAfterSeconds, } from "../transport/http.ts";
import { apiErrorFromBody } from "./api-error.ts";
import { ListDecoder } from "./list-decoder.ts";
/** Requests whose answers are either what was asked for or an `ApiError`. */
export class Requester {
    transport;
    options;
    constructor(transport, options = {}) {
        this.transport = transport;
        this.options = options;
    }
    /** The answer's JSON. */
    async json(request) {
        const { body } = await this.bytes(request);
        return this.#parse(request, () => JSON.parse(body.toString("utf8")));
    }
    /** The answer's JSON, parsed while it arrives. */
    async list(request) {
        const { collector } = await this.bytes({ ...request, collector: () => new ListDecoder() });
        return this.#parse(request, () => collector.end());
    }
    async bytes(request) {
        const response = await this.transport.request(this.#prepare(request));
        this.#check(request.action, response);
        return response;
    }
    async stream(request) {
        const response = await this.transport.stream(this.#prepare(request));
        this.#check(request.action, response);
        if (response.stream === undefined) {
            throw apiErrorFromBody(request.action, response.statusCode, response.body.toString("utf8"));
        }
        return response.stream;
    }
    #parse({ action }, parse) {
        try {
            return parse();
        }
        catch (cause) {
            const reason = "the answer is not JSON: is this a Kubernetes API?";
            throw new ConnectionError({ action, server: this.transport.server, reason, cause, sent: true });
        }
    }
    #prepare(request) {
        if (this.options.headers === undefined)
            return request;
        return { ...request, headers: { ...request.headers, ...this.options.headers } };
    }
    #check(action, response) {
        const { statusCode, headers, body } = response;
        if (this.options.onWarning !== undefined && headers.warning !== undefined) {
            for (const text of warningTexts(headers.warning))
                this.options.onWarning(text, action);
        }
        if (statusCode >= 200 && statusCode < 300)
            return;
        throw apiErrorFromBody(action, statusCode, body.toString("utf8"), retryAfterSeconds(headers, this.transport.clock.now()));
    }
}
/** The texts of `Warning: 299 - "text"` headers. */
export function warningTexts(header) {
    const texts = [];
    for (const value of [header].flat()) {
        for (const match of value.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
            texts.push((match[1] ?? "").replace(/\\(.)/g, "$1"));
        }
    }
    return texts;
}
