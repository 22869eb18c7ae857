import { FjordError } from "@fjord/base";
import { LONGEST_RETRY_AFTER_SECONDS } from "../transport/http.ts";
import { normalStatus, type Status, type StatusDetails } from "./status.ts";

export { ConnectionError } from "../transport/errors.ts";
export type { Status, StatusCause, StatusDetails } from "./status.ts";

export interface ApiErrorInit {
  /** What was attempted, such as `get Pod default/web`. */
  action: string;
  statusCode: number;
  /** As it came, of whatever shape. Absent when whoever answered (a proxy, a load balancer) speaks no Kubernetes. */
  status?: unknown;
  /** Used where there is no Status. */
  text?: string;
  /** From the Retry-After header, used where the Status names none. */
  retryAfterSeconds?: number;
}

/** The API server's refusal: every answer that is not a success, and every ERROR event of a watch. */
export class ApiError extends FjordError {
  static readonly code = "KUBE_API";
  static readonly template = "cannot {action}: {message} ({statusCode} {reason})";
  static readonly advice =
    "The API server understood the request and refused it, for the reason given. Forbidden: this user lacks a right (`kubectl auth can-i --list` shows which it has), or another context is meant. Unauthorized: log in anew. Invalid: change what is named. Conflict, TooManyRequests and Timeout: try again.";

  readonly action: string;
  readonly statusCode: number;
  /** Kubernetes' word for what is wrong, such as `NotFound`; empty where the answer did not come from Kubernetes. */
  readonly reason: string;
  readonly details: StatusDetails;
  /** The server's whole answer, where it was a Status, without what has the wrong shape in it. */
  readonly status: Status | undefined;

  constructor(init: ApiErrorInit) {
    const status = init.status === undefined ? undefined : normalStatus(init.status);
    const reason = status?.reason ?? "";
    const message = status?.message || init.text || "no message";
    const code = `${init.statusCode}${reason === "" ? "" : ` ${reason}`}`;
    super(ApiError.code, `cannot ${init.action}: ${message} (${code})`);
    this.name = "ApiError";
    this.action = init.action;
    this.statusCode = init.statusCode;
    this.reason = reason;
    this.status = status;
    const seconds = status?.details?.retryAfterSeconds ?? init.retryAfterSeconds;
    const retryAfterSeconds = seconds === undefined ? undefined : Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS);
    this.details = { ...status?.details, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  }
}

/** Kubernetes itself answers so where a kind is not known; anybody else, where there is no Kubernetes. */
const NO_SUCH_PATH = "the server does not have this path: the kind is not installed there, or the base URL is wrong";

/** Makes the error for an answer's body, whatever wrote it. */
export function apiErrorFromBody(
  action: string,
  statusCode: number,
  body: string,
  retryAfterSeconds?: number,
): ApiError {
  const status = parseStatus(body);
  if (status !== undefined) return new ApiError({ action, statusCode, status, retryAfterSeconds });
  const text = statusCode === 404 ? NO_SUCH_PATH : plainText(body);
  return new ApiError({ action, statusCode, text, retryAfterSeconds });
}

function parseStatus(body: string): Status | undefined {
  if (!body.trimStart().startsWith("{")) return undefined;
  try {
    const status = normalStatus(JSON.parse(body));
    return status.kind === "Status" ? status : undefined;
  } catch {
    // Not JSON after all: the text itself becomes the message.
    return undefined;
  }
}

/** One readable line out of what may be a proxy's HTML page. */
function plainText(body: string): string {
  const text = body
    .slice(0, 4096)
    .replace(/<(style|script|title)[^>]*>[\s\S]*?<\/\1>/gi, " ")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function hasReason(thrown: unknown, statusCode: number, ...reasons: string[]): thrown is ApiError {
  if (!(thrown instanceof ApiError)) return false;
  return thrown.reason === "" ? thrown.statusCode === statusCode : reasons.includes(thrown.reason);
}

/** The object, or the kind itself, is not there. */
export function isNotFound(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 404, "NotFound");
}

/** For `catch`, as in `client.get(...).catch(ifNotFound)`: undefined where it is not there, or no longer; all else stays thrown. */
export function ifNotFound(thrown: unknown): undefined {
  if (!isNotFound(thrown)) throw thrown;
  return undefined;
}

/** The server does not know the path at all: a kind that is not installed, unlike an object that does not exist. */
export function isNotServed(thrown: unknown): thrown is ApiError {
  return isNotFound(thrown) && thrown.details.name === undefined;
}

/** Someone changed the object in between, or manages the fields that were to be applied. */
export function isConflict(thrown: unknown): thrown is ApiError {
  return thrown instanceof ApiError && thrown.reason === "Conflict";
}

export function isAlreadyExists(thrown: unknown): thrown is ApiError {
  return thrown instanceof ApiError && thrown.reason === "AlreadyExists";
}

/** The revision or continue token is too old: list again. */
export function isGone(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 410, "Gone", "Expired");
}

export function isForbidden(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 403, "Forbidden");
}

export function isUnauthorized(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 401, "Unauthorized");
}

/** The object breaks a rule of its schema; `details.causes` name the fields. */
export function isInvalid(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 422, "Invalid");
}

export function isTooManyRequests(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 429, "TooManyRequests");
}

/** The server gave up waiting; a write may have happened all the same. */
export function isTimeout(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 504, "Timeout", "ServerTimeout");
}

/** The server is there but cannot answer now. */
export function isUnavailable(thrown: unknown): thrown is ApiError {
  return hasReason(thrown, 503, "ServiceUnavailable");
}
