import { impersonationHeaders } from "../config/impersonation.ts";
import { Transport } from "../transport/transport.ts";
import { ObjectClient } from "./object-client.ts";
import { logQuery } from "./pod-log.ts";
import { jsonBody, patchContentTypes, writeQuery } from "./request-options.ts";
import { Requester } from "./requester.ts";
import { describeTarget, objectPath, queryString } from "./resource-path.ts";
/**
 * Reads and writes objects of any kind, and what hangs on them. Every call throws `ApiError` for a refusal,
 * `ConnectionError` when no whole answer came, and the signal's reason when it aborts.
 */
export class KubeClient extends ObjectClient {
    transport;
    #config;
    #options;
    constructor(config, options = {}) {
        const transport = options.transport ?? new Transport(config, options);
        super(new Requester(transport, options), config.namespace);
        this.transport = transport;
        this.#config = config;
        this.#options = options;
    }
    getScale(kind, key, options = {}) {
        return this.object("GET", "get", kind, key, { ...options, subresource: "scale" });
    }
    /** Replaces the scale; with a resource version in it, only if the workload is still the same. */
    updateScale(kind, key, scale, options = {}) {
        const scaleOptions = { ...options, subresource: "scale" };
        return this.object("PUT", "update", kind, key, scaleOptions, writeQuery(options), jsonBody(scale));
    }
    /** Sets the number of replicas, whatever it is now. */
    scale(kind, key, replicas, options = {}) {
        const body = jsonBody({ spec: { replicas } }, patchContentTypes.merge);
        const scaleOptions = { ...options, subresource: "scale" };
        return this.object("PATCH", "scale", kind, key, scaleOptions, writeQuery(options), body);
    }
    /** Deletes a pod if its disruption budgets allow; the refusal is an `ApiError` for which `isTooManyRequests` holds. */
    async evict(key, options = {}) {
        const target = this.key(pods, key);
        const { gracePeriodSeconds, preconditions, dryRun } = options;
        const deleteOptions = { gracePeriodSeconds, preconditions, dryRun: dryRun ? ["All"] : undefined };
        await this.requester.bytes({
            method: "POST",
            path: objectPath(pods, target, "eviction"),
            action: `evict ${describeTarget(pods, target)}`,
            signal: options.signal,
            // Here 429 is the answer, not a wish to be asked again.
            retryTooManyRequests: false,
            ...jsonBody({ apiVersion: "policy/v1", kind: "Eviction", metadata: target, deleteOptions }),
        });
    }
    /** Assigns a pod to a node, as a scheduler does. */
    async bind(key, nodeName, options = {}) {
        const target = this.key(pods, key);
        const node = { apiVersion: "v1", kind: "Node", name: nodeName };
        await this.requester.bytes({
            method: "POST",
            path: objectPath(pods, target, "binding") + queryString(writeQuery(options)),
            action: `bind ${describeTarget(pods, target)} to Node ${nodeName}`,
            signal: options.signal,
            ...jsonBody({ apiVersion: "v1", kind: "Binding", metadata: target, target: node }),
        });
    }
    /** Asks for a token of a service account. */
    async createToken(key, options = {}) {
        const target = this.key(serviceAccounts, key);
        const spec = {
            audiences: options.audiences ?? [],
            expirationSeconds: options.expirationSeconds,
            boundObjectRef: options.boundObject,
        };
        const { status } = await this.requester.json({
            method: "POST",
            path: objectPath(serviceAccounts, target, "token"),
            action: `get a token of ${describeTarget(serviceAccounts, target)}`,
            signal: options.signal,
            ...jsonBody({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec }),
        });
        return status;
    }
    /** A container's output, as it is written. Opened when the first chunk is asked for. */
    async *log(key, options = {}) {
        const target = this.key(pods, key);
        yield* await this.requester.stream({
            method: "GET",
            path: objectPath(pods, target, "log") + queryString(logQuery(options)),
            action: `read the log of ${describeTarget(pods, target)}`,
            headers: { accept: "*/*" },
            signal: options.signal,
            // The answer to a follow begins with the container's first output, whenever that is.
            headersTimeoutMs: options.follow ? 0 : undefined,
        });
    }
    /** Any request: `path` begins with a slash and is below the server's base URL. */
    raw(method, path, options = {}) {
        return this.requester.bytes(rawRequest(method, path, options));
    }
    /** Like `raw`, giving the body as it arrives. */
    rawStream(method, path, options = {}) {
        return this.requester.stream(rawRequest(method, path, options));
    }
    /** A client that acts as someone else over the same connections. */
    impersonating(who) {
        const headers = { ...this.#options.headers, ...impersonationHeaders(who) };
        return new KubeClient(this.#config, { ...this.#options, transport: this.transport, headers });
    }
    /** Cuts watches and streams, and resolves when the requests under way have ended. */
    close() {
        return this.transport.close();
    }
}
const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const serviceAccounts = { ...pods, kind: "ServiceAccount", plural: "serviceaccounts" };
function rawRequest(method, path, options) {
    const { query = {}, headers, body, signal } = options;
    const content = typeof body === "string" || body instanceof Uint8Array ? { body } : jsonBody(body);
    return {
        method,
        path: path + queryString(query),
        action: `${method} ${path}`,
        signal,
        ...content,
        headers: { ...content.headers, ...headers },
    };
}
