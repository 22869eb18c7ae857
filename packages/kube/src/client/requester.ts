import { describeError } from "@fjord/base";
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
import { ListDecoder, type ListDecoderOptions } from "./list-decoder.ts";

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

  /** The answer's JSON, which is an object. */
  async json<T>(request: HttpRequest): Promise<T> {
    const { body } = await this.bytes(request);
    const value = this.#parse(request, () => JSON.parse(body.toString("utf8")) as T);
    if (!isObject(value)) throw this.strange(request.action);
    return value;
  }

  /** The answer's JSON, parsed while it arrives. */
  async list<T extends { items?: unknown[] | null }>(request: HttpRequest, options: ListDecoderOptions): Promise<T> {
    const { collector } = await this.bytes({ ...request, collector: () => new ListDecoder<T>(options) });
    const list = this.#parse(request, () => (collector as ListDecoder<T>).end());
    if (!isList(list)) throw this.strange(request.action);
    return list;
  }

  /** For an answer that is JSON, and nothing that was asked for. */
  strange(action: string): ConnectionError {
    const reason = "the answer is not what a Kubernetes API gives";
    return new ConnectionError({ action, server: this.transport.server, reason, sent: true });
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

  // The server has done what it was asked: a listener's own mistake must not tell the caller otherwise.
  #warn(text: string, action: string): void {
    try {
      this.options.onWarning?.(text, action);
    } catch (error) {
      process.emitWarning(`onWarning threw for the warning "${text}": ${describeError(error)}`);
    }
  }

  #check(action: string, response: HttpResponse): void {
    const { statusCode, headers, body } = response;
    if (this.options.onWarning !== undefined && headers.warning !== undefined) {
      for (const text of warningTexts(headers.warning)) this.#warn(text, action);
    }
    if (statusCode >= 200 && statusCode < 300) return;
    throw apiErrorFromBody(action, statusCode, textOf(body), retryAfterSeconds(headers, this.transport.clock.now()));
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Items may be absent; what is there are objects with metadata. */
function isList(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { metadata, items } = value;
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) return false;
  if (!isText(metadata?.resourceVersion) || !isText(metadata?.continue)) return false;
  if (items === undefined || items === null) return true;
  return Array.isArray(items) && items.every((item) => isObject(item) && isObject(item.metadata));
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
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
