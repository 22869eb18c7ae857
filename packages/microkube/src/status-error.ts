import type { FieldError } from "./field-error.ts";
import { describeFieldError } from "./field-error.ts";

/** An answer that is no success, in Kubernetes' own form (meta/v1 Status). */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Record<string, unknown>;
  readonly status: "Failure" | "Success";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { reason?: string; message?: string; field?: string }[];
  readonly retryAfterSeconds?: number;
}

/** Thrown anywhere below the server: it becomes the answer as it is. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** The list's own metadata: where it may go on. */
  readonly metadata: Readonly<Record<string, unknown>>;

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: StatusDetails,
    metadata: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "StatusError";
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.metadata = metadata;
  }

  get status(): Status {
    const { code, reason, message, details, metadata } = this;
    const head = { kind: "Status", apiVersion: "v1", metadata: { ...metadata }, status: "Failure" } as const;
    return { ...head, message, ...(reason !== "" && { reason }), ...(details && { details }), code };
  }
}

interface Resource {
  readonly group: string;
  readonly plural: string;
}

const qualified = ({ group, plural }: Resource) => (group === "" ? plural : `${plural}.${group}`);
const detailsOf = ({ group, plural }: Resource, name: string): StatusDetails => ({
  ...(name !== "" && { name }),
  ...(group !== "" && { group }),
  kind: plural,
});

export function notFound(resource: Resource, name: string): StatusError {
  return new StatusError(404, "NotFound", `${qualified(resource)} "${name}" not found`, detailsOf(resource, name));
}

export function alreadyExists(resource: Resource, name: string): StatusError {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new StatusError(409, "AlreadyExists", message, detailsOf(resource, name));
}

export function conflict(resource: Resource, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new StatusError(409, "Conflict", message, detailsOf(resource, name));
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

export function tooLarge(why: string): StatusError {
  return new StatusError(413, "RequestEntityTooLarge", `Request entity too large: ${why}`);
}

/** `subject` as in Kubernetes: `User "jane" cannot get resource "pods" in API group "" in the namespace "shop"`. */
export function forbidden(resource: Resource, name: string, why: string): StatusError {
  const message = `${qualified(resource)} ${name === "" ? "" : `"${name}" `}is forbidden: ${why}`;
  return new StatusError(403, "Forbidden", message, detailsOf(resource, name));
}

/** What is wrong beyond that is counted only: each thing is told with its value, twice. */
const MOST_SHOWN = 1_000;
/** The same in characters, where the values are large. */
const LONGEST_SHOWN = 256 * 1024;

/** Content that cannot be: all that is wrong with it at once. `kind` is the object's kind, not its resource. */
export function invalid(of: { group: string; kind: string }, name: string, errors: readonly FieldError[]): StatusError {
  const texts: string[] = [];
  let size = 0;
  for (const error of errors.slice(0, MOST_SHOWN)) {
    if (size > LONGEST_SHOWN) break;
    const text = describeFieldError(error);
    size += text.length;
    texts.push(text);
  }
  const shown = errors.slice(0, texts.length);
  if (errors.length > shown.length) texts.push(`and ${errors.length - shown.length} more`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const qualifiedKind = of.group === "" ? of.kind : `${of.kind}.${of.group}`;
  const details = {
    ...(name !== "" && { name }),
    ...(of.group !== "" && { group: of.group }),
    kind: of.kind,
    causes: shown.map((error, at) => ({
      reason: error.type,
      message: texts[at]?.slice(error.field.length + 2) ?? "",
      field: error.field,
    })),
  };
  return new StatusError(422, "Invalid", `${qualifiedKind} "${name}" is invalid: ${list}`, details);
}

/** The resource version is older than what is kept: the client lists anew. */
export function expired(message: string): StatusError {
  return new StatusError(410, "Expired", message);
}

export function methodNotAllowed(resource: Resource, action: string): StatusError {
  const message = `${action} is not supported on resources of kind "${qualified(resource)}"`;
  return new StatusError(405, "MethodNotAllowed", message, { ...detailsOf(resource, "") });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError(429, "TooManyRequests", message, { retryAfterSeconds });
}
