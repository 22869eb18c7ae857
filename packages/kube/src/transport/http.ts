export type HttpMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

export type HttpHeaders = Record<string, string | string[] | undefined>;

export interface HttpRequest {
  method: HttpMethod;
  /** Path and query below the server's base URL, escaped. */
  path: string;
  headers?: HttpHeaders;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** What errors say was attempted, such as `get Pod default/web`. */
  action: string;
  /** Waits out answers of 429. @default true */
  retryTooManyRequests?: boolean;
  /** Makes what takes the body of a success as it arrives, anew for each attempt; `body` is then empty. */
  collector?: () => BodyCollector;
}

export interface BodyCollector {
  /** What it throws becomes the request's failure. */
  push(chunk: Buffer): void;
}

export interface HttpResponse {
  readonly statusCode: number;
  readonly headers: HttpHeaders;
  readonly body: Buffer;
  /** The one that the request asked for, if the server agreed. */
  readonly collector?: BodyCollector;
}

export interface StreamRequest extends HttpRequest {
  /** How long to wait for the answer to begin; 0 for as long as it takes. */
  headersTimeoutMs?: number;
  /** Fails the stream when nothing arrives for this long. Absent: never. */
  idleTimeoutMs?: number;
  /** About how much is held of it that was not read yet. @default a megabyte */
  heldBytes?: number;
  /** Over a connection for what cannot be begun again where it was. @default false */
  lasting?: boolean;
}

/** A header that is there at most once. */
export function headerValue(headers: HttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The longest that we let a server send us away for. */
export const LONGEST_RETRY_AFTER_SECONDS = 3600;

/** Seconds to wait by a Retry-After header, which holds seconds or a date. Nonsense is left out, an age cut to an hour. */
export function retryAfterSeconds(headers: HttpHeaders, now: number): number | undefined {
  const value = headerValue(headers, "retry-after");
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(Number(value), LONGEST_RETRY_AFTER_SECONDS);
  // A date has the name of its month in it; Date.parse makes one of almost any number.
  const date = /[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, (date - now) / 1000), LONGEST_RETRY_AFTER_SECONDS);
}
