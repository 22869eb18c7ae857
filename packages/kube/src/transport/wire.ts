import type { HttpHeaders, HttpMethod } from "./http.ts";

/** One request as it is written. */
export interface WireRequest {
  readonly method: HttpMethod;
  /** The whole path, escaped, with the query. */
  readonly path: string;
  readonly headers: HttpHeaders;
  readonly body: string | Uint8Array | undefined;
  /** How long the answer may take to begin once the request is on its way; 0 for ever. */
  readonly headersTimeoutMs: number;
  /** How long the answer may pause; 0 for ever. */
  readonly bodyTimeoutMs: number;
}

/** Told what becomes of a request; nothing any more after `onEnd`, `onError` or an abort. */
export interface AnswerHandler {
  /** It is about to be written: from now on the server may have seen it. */
  onSent(): void;
  onHead(statusCode: number, headers: HttpHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: Error): void;
}

/** A request under way. */
export interface Sending {
  pause(): void;
  resume(): void;
  /** Ends it, wherever it is, and the connection that it is on. */
  abort(): void;
}

/** Something that HTTP requests can be sent over. */
export interface Wire {
  send(request: WireRequest, handler: AnswerHandler): Sending;
}
