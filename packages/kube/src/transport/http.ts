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
  /** Must not throw. */
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
}

/** A header that is there at most once. */
export function headerValue(headers: HttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Seconds to wait by a Retry-After header, which holds seconds or a date. */
export function retryAfterSeconds(headers: HttpHeaders, now: number): number | undefined {
  const value = headerValue(headers, "retry-after");
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}
