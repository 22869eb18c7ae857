import { FjordError } from "@fjord/base";
export { ConnectionError } from "../transport/errors.ts";
/** The API server's refusal: every answer that is not a success, and every ERROR event of a watch. */
export class ApiError extends FjordError {
    static code = "KUBE_API";
    static template = "cannot {action}: {message} ({statusCode} {reason})";
    static advice = "The API server understood the request and refused it, for the reason given. Look the reason up in Kubernetes' API conventions.";
    action;
    statusCode;
    /** Kubernetes' word for what is wrong, such as `NotFound`; empty where the answer did not come from Kubernetes. */
    reason;
    details;
    /** The server's whole answer, where it was a Status. */
    status;
    constructor(init) {
        const reason = init.status?.reason ?? "";
        const message = init.status?.message || init.text || "no message";
        const code = `${init.statusCode}${reason === "" ? "" : ` ${reason}`}`;
        super(ApiError.code, `cannot ${init.action}: ${message} (${code})`);
        this.name = "ApiError";
        this.action = init.action;
        this.statusCode = init.statusCode;
        this.reason = reason;
        this.status = init.status;
        const retryAfterSeconds = init.status?.details?.retryAfterSeconds ?? init.retryAfterSeconds;
        this.details = { ...init.status?.details, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
    }
}
/** Makes the error for an answer's body, whatever wrote it. */
export function apiErrorFromBody(action, statusCode, body, retryAfterSeconds) {
    const status = parseStatus(body);
    if (status !== undefined)
        return new ApiError({ action, statusCode, status, retryAfterSeconds });
    return new ApiError({ action, statusCode, text: plainText(body), retryAfterSeconds });
}
function parseStatus(body) {
    if (!body.trimStart().startsWith("{"))
        return undefined;
    try {
        const parsed = JSON.parse(body);
        return parsed.kind === "Status" ? parsed : undefined;
    }
    catch {
        // Not JSON after all: the text itself becomes the message.
        return undefined;
    }
}
/** One readable line out of what may be a proxy's HTML page. */
function plainText(body) {
    const text = body
        .slice(0, 4096)
        .replace(/<(style|script|title)[^>]*>[\s\S]*?<\/\1>/gi, " ")
        .replace(/<[^>]*>/g, " ")
        .replace(/\s+/g, " ")
        .trim();
    return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
function hasReason(thrown, statusCode, ...reasons) {
    if (!(thrown instanceof ApiError))
        return false;
    return thrown.reason === "" ? thrown.statusCode === statusCode : reasons.includes(thrown.reason);
}
/** The object, or the kind itself, is not there. */
export function isNotFound(thrown) {
    return hasReason(thrown, 404, "NotFound");
}
/** The server does not know the path at all: a kind that is not installed, unlike an object that does not exist. */
export function isNotServed(thrown) {
    return isNotFound(thrown) && thrown.details.name === undefined;
}
/** Someone changed the object in between, or manages the fields that were to be applied. */
export function isConflict(thrown) {
    return thrown instanceof ApiError && thrown.reason === "Conflict";
}
export function isAlreadyExists(thrown) {
    return thrown instanceof ApiError && thrown.reason === "AlreadyExists";
}
/** The revision or continue token is too old: list again. */
export function isGone(thrown) {
    return hasReason(thrown, 410, "Gone", "Expired");
}
export function isForbidden(thrown) {
    return hasReason(thrown, 403, "Forbidden");
}
export function isUnauthorized(thrown) {
    return hasReason(thrown, 401, "Unauthorized");
}
/** The object breaks a rule of its schema; `details.causes` name the fields. */
export function isInvalid(thrown) {
    return hasReason(thrown, 422, "Invalid");
}
export function isTooManyRequests(thrown) {
    return hasReason(thrown, 429, "TooManyRequests");
}
/** The server gave up waiting; a write may have happened all the same. */
export function isTimeout(thrown) {
    return hasReason(thrown, 504, "Timeout", "ServerTimeout");
}
/** The server is there but cannot answer now. */
export function isUnavailable(thrown) {
    return hasReason(thrown, 503, "ServiceUnavailable");
}
