/** The body of a Kubernetes error answer. */
export interface StatusBody {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Record<string, never>;
  readonly status: "Failure";
  readonly message: string;
  readonly reason: string;
  readonly code: number;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason: string; readonly message: string }[];
  };
}

/** Thrown inside the fault server, answered as a Status. */
export class StatusError extends Error {
  readonly body: StatusBody;

  constructor(code: number, reason: string, message: string, details?: StatusBody["details"]) {
    super(message);
    this.name = "StatusError";
    this.body = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason,
      code,
      ...(details && { details }),
    };
  }
}

const reasons: Record<number, string> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

export function statusOf(code: number, message = `injected ${code}`, retryAfterSeconds?: number): StatusError {
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  return new StatusError(code, reasons[code] ?? "InternalError", message, details);
}

export function expired(revision: number, compacted: number): StatusError {
  return statusOf(410, `too old resource version: ${revision} (${compacted})`);
}

/** What a server says that has not reached, or no longer has, the revision asked for. */
export function tooLargeRevision(revision: number, current: number): StatusError {
  return new StatusError(504, "Timeout", `Too large resource version: ${revision}, current: ${current}`, {
    retryAfterSeconds: 1,
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
  });
}

export function notFound(resource: string, key: string): StatusError {
  return statusOf(404, `${resource} "${key}" not found`);
}

export function conflict(resource: string, key: string): StatusError {
  return statusOf(409, `Operation cannot be fulfilled on ${resource} "${key}": the object has been modified`);
}

export function alreadyExists(resource: string, key: string): StatusError {
  return new StatusError(409, "AlreadyExists", `${resource} "${key}" already exists`);
}
