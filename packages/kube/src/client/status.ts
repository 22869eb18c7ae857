import { LONGEST_RETRY_AFTER_SECONDS } from "../transport/http.ts";

/** What Kubernetes says beside the message: which object, which fields, when to come back. */
export interface StatusDetails {
  name?: string;
  group?: string;
  /** The resource's plural or its kind, as the server likes. */
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  /** At most an hour. */
  retryAfterSeconds?: number;
}

export interface StatusCause {
  reason?: string;
  message?: string;
  /** Path of the field that is wrong, such as `spec.replicas`. */
  field?: string;
}

/** A `Status` object as in Kubernetes' meta/v1. */
export interface Status {
  apiVersion?: string;
  kind?: "Status";
  metadata?: { continue?: string };
  status?: string;
  message?: string;
  reason?: string;
  code?: number;
  details?: StatusDetails;
}

/** Longer than what any server has to say. */
const LONGEST_TEXT = 32 * 1024;

/**
 * Whatever a server sent as its Status, with only what has the right shape left of it: everyone reads these, and
 * mostly where nothing else may go wrong.
 */
export function normalStatus(value: unknown): Status {
  const given = fields(value);
  const { metadata, details, code } = given;
  return {
    ...texts(given, ["apiVersion", "status", "message", "reason"]),
    ...(given.kind === "Status" ? { kind: "Status" } : {}),
    ...(isObject(metadata) ? { metadata: texts(metadata, ["continue"]) } : {}),
    ...(isStatusCode(code) ? { code } : {}),
    ...(isObject(details) ? { details: normalDetails(details) } : {}),
  };
}

function normalDetails(given: Record<string, unknown>): StatusDetails {
  const { causes, retryAfterSeconds: seconds } = given;
  const isDelay = typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0;
  return {
    ...texts(given, ["name", "group", "kind", "uid"]),
    ...(Array.isArray(causes)
      ? { causes: causes.filter(isObject).map((cause) => texts(cause, ["reason", "message", "field"])) }
      : {}),
    ...(isDelay ? { retryAfterSeconds: Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS) } : {}),
  };
}

function texts<Name extends string>(given: Record<string, unknown>, names: readonly Name[]): { [K in Name]?: string } {
  const found: { [K in Name]?: string } = {};
  for (const name of names) {
    const value = given[name];
    if (typeof value === "string")
      found[name] = value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
  }
  return found;
}

function isStatusCode(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fields(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
