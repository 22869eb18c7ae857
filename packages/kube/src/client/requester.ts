import { mergeHeaders } from "../config/headers.ts";
import type { ByteStream } from "../transport/byte-stream.ts";
import { ConnectionError } from "../transport/errors.ts";
import {
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  retryAfterSeconds,
  type StreamRequest,
} from "../transport/http.ts";
import type { Transport } from "../transport/transport.ts";
import { apiErrorFromBody } from "./api-error.ts";
import { ListDecoder } from "./list-decoder.ts";

export interface RequesterOptions {
  /** Sent with every request, over the transport's own. */
  headers?: HttpHeaders;
  /** Told of each warning that the server adds to an answer, such as the use of a deprecated version. */
  onWarning?: (warning: string, action: string) => void;
}

/** Requests whose answers are either what was asked for or an `ApiError`. */
export class Requester {
  readonly transport: Transport;
  readonly options: RequesterOptions;

  constructor(transport: Transport, options: RequesterOptions = {}) {
    this.transport = transport;
    this.options = options;
  }

  /** The answer's JSON. */
  async json<T>(request: HttpRequest): Promise<T> {
    const { body } = await this.bytes(request);
    return this.#parse(request, () => JSON.parse(body.toString("utf8")) as T);
  }

  /** The answer's JSON, parsed while it arrives. */
  async list<T extends { items?: unknown[] | null }>(request: HttpRequest): Promise<T> {
    const { collector } = await this.bytes({ ...request, collector: () => new ListDecoder<T>() });
    return this.#parse(request, () => (collector as ListDecoder<T>).end());
  }

  async bytes(request: HttpRequest): Promise<HttpResponse> {
    const response = await this.transport.request(this.#prepare(request));
    this.#check(request.action, response);
    return response;
  }

  async stream(request: StreamRequest): Promise<ByteStream> {
    const response = await this.transport.stream(this.#prepare(request));
    this.#check(request.action, response);
    if (response.stream === undefined) {
      throw apiErrorFromBody(request.action, response.statusCode, textOf(response.body));
    }
    return response.stream;
  }

  #parse<T>({ action }: HttpRequest, parse: () => T): T {
    try {
      return parse();
    } catch (cause) {
      const reason = cause instanceof SyntaxError ? "the answer is not JSON: is this a Kubernetes API?" : undefined;
      throw new ConnectionError({ action, server: this.transport.server, reason, cause, sent: true });
    }
  }

  #prepare<R extends HttpRequest>(request: R): R {
    if (this.options.headers === undefined) return request;
    return { ...request, headers: mergeHeaders(request.headers, this.options.headers) };
  }

  #check(action: string, response: HttpResponse): void {
    const { statusCode, headers, body } = response;
    if (this.options.onWarning !== undefined && headers.warning !== undefined) {
      for (const text of warningTexts(headers.warning)) this.options.onWarning(text, action);
    }
    if (statusCode >= 200 && statusCode < 300) return;
    throw apiErrorFromBody(action, statusCode, textOf(body), retryAfterSeconds(headers, this.transport.clock.now()));
  }
}

/** The words of a refusal; no Status is longer than this. */
function textOf(body: Buffer): string {
  return body.toString("utf8", 0, Math.min(body.length, 4 * 1024 * 1024));
}

/** The texts of `Warning: 299 - "text"` headers. */
export function warningTexts(header: string | string[]): string[] {
  const texts: string[] = [];
  for (const value of [header].flat()) {
    for (const match of value.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
      texts.push((match[1] ?? "").replace(/\\(.)/g, "$1"));
    }
  }
  return texts;
}
