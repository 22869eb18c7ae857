import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import type { AuditRecord } from "../audit/index.ts";
import type { Caller } from "../cluster.ts";
import { Pace } from "../pace.ts";
import { badRequest, StatusError } from "../status-error.ts";
import { type AnswerForm, PLAIN } from "./media-type.ts";

/** As large as a request may be: what etcd would take, twice. */
const LARGEST_BODY = 3 * 1024 * 1024;
/** What is larger is not laid out for readers. */
const LONGEST_YAML = 128 * 1024;
/** As long as a client may take to send it. */
const LONGEST_BODY_MS = 60_000;
/**
 * What is read of a body that nobody wants before the answer, since who is cut off while sending hears none: so much, for
 * so long, and with no longer pause than this.
 */
const MOST_DISCARDED = 64 * 1024 * 1024;
const LONGEST_DISCARD_MS = 5_000;
const LONGEST_PAUSE_MS = 1_000;

export interface Upgrade {
  readonly socket: Duplex;
  /** What came with the request already. */
  readonly head: Buffer;
  /** Takes the connection from the response, which then says nothing. */
  detach(): void;
}

/** What is needed of a request: Node's own, or one of this process. */
export interface ExchangeRequest extends AsyncIterable<Buffer> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Whether all of it has arrived. */
  readonly complete: boolean;
}

/** What is needed of a response. */
export interface ExchangeResponse extends NodeJS.EventEmitter {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  readonly chunkedEncoding: boolean;
  readonly socket: Socket | null;
  statusCode: number;
  setHeader(name: string, value: string | readonly string[]): unknown;
  writeHead(code: number, headers: Record<string, string | number | string[]> | string[]): unknown;
  flushHeaders(): void;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string | Buffer): unknown;
  destroy(): unknown;
}

/** One request and its answer. */
export class Exchange {
  readonly request: ExchangeRequest;
  readonly response: ExchangeResponse;
  /** As it was sent, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Where the client asks for another protocol on this connection. */
  readonly upgrade: Upgrade | undefined;
  readonly #warnings = new Set<string>();
  readonly #longestBodyMs: number;
  caller: Caller | undefined;
  readonly pace = new Pace();
  /** What is written down of it, where somebody wants to know. */
  audit: AuditRecord | undefined;

  constructor(
    request: ExchangeRequest,
    response: ExchangeResponse,
    upgrade?: Upgrade,
    longestBodyMs: number = LONGEST_BODY_MS,
  ) {
    this.upgrade = upgrade;
    this.#longestBodyMs = longestBodyMs;
    this.request = request;
    this.response = response;
    const url = request.url ?? "/";
    const at = url.indexOf("?");
    this.path = at < 0 ? url : url.slice(0, at);
    this.query = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  }

  get method(): string {
    return this.request.method ?? "GET";
  }

  warn(text: string): void {
    // More than can be sent need not be kept.
    if (this.#warnings.size <= MOST_WARNED) this.#warnings.add(text);
  }

  /** The whole body. Throws where it is too large (413), cut off (400), or takes too long (504). */
  async body(): Promise<Buffer> {
    const declared = Number(this.request.headers["content-length"] ?? 0);
    if (declared > LARGEST_BODY) throw tooLarge();
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size > LARGEST_BODY) throw tooLarge();
      chunks.push(chunk);
    };
    if (this.request instanceof Readable) await readAll(this.request, take, this.#longestBodyMs);
    else for await (const chunk of this.request) take(chunk);
    await this.pace.begin(size);
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
  }

  /** Sends text that is JSON, in the form that was asked for. */
  async sendJson(code: number, text: string, form: AnswerForm = PLAIN): Promise<void> {
    this.audit?.responded(text);
    if (form.format === "yaml") {
      const { stringify } = await import("yaml");
      // JSON is YAML, too, and to write a large list otherwise would hold everybody up.
      const body = text.length > LONGEST_YAML ? `${text}\n` : stringify(JSON.parse(text));
      this.send(code, "application/yaml", body);
    } else this.send(code, "application/json", this.#isForReading() ? pretty(text) : `${text}\n`);
  }

  async sendObject(code: number, object: unknown, form: AnswerForm = PLAIN): Promise<void> {
    await this.sendJson(code, JSON.stringify(object), form);
  }

  send(code: number, type: string, body: string | Buffer): void {
    const { response } = this;
    if (response.headersSent || response.destroyed) return;
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    // Whoever has the answer finds it written down.
    this.audit?.finish(code);
    response.writeHead(code, { ...this.headers(type), "Content-Length": bytes.length });
    // While the answer before is not gone, Node keeps "100 Continue" back, and would put this head in front of it.
    if (this.request.headers.expect !== undefined) response.flushHeaders();
    response.end(this.method === "HEAD" ? undefined : bytes);
  }

  /** What every answer has. */
  headers(type: string): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = {
      "Cache-Control": "no-cache, private",
      "Content-Type": type,
    };
    if (this.#warnings.size > 0) headers.Warning = shortened([...this.#warnings]).map(warningHeader);
    return headers;
  }

  async sendError(error: StatusError): Promise<void> {
    const { retryAfterSeconds } = error.details ?? {};
    if (retryAfterSeconds !== undefined && !this.response.headersSent) {
      this.response.setHeader("Retry-After", String(retryAfterSeconds));
    }
    await this.#discardBody();
    // What was not read of the body would be taken for the next request.
    if (!this.request.complete && !this.response.headersSent) this.response.setHeader("Connection", "close");
    await this.sendObject(error.code, error.status);
  }

  async #discardBody(): Promise<void> {
    const { request } = this;
    const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
    if (request.complete || this.upgrade !== undefined || (length === "0" && encoding === undefined)) return;
    if (request instanceof Readable && !request.destroyed && !request.readableEnded) await discardRest(request);
  }

  #isForReading(): boolean {
    const asked = this.query.get("pretty");
    if (asked !== null) return !["0", "false"].includes(asked);
    const agent = this.request.headers["user-agent"] ?? "";
    return agent.startsWith("curl") || agent.startsWith("Wget") || agent.startsWith("Mozilla/5.0");
  }
}

/** By events: an iterator costs more than all else of reading a small body. */
function readAll(stream: Readable, take: (chunk: Buffer) => void, longestMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (error: unknown) => {
      clearTimeout(timer);
      stream.pause();
      stream.removeAllListeners("data");
      reject(error);
    };
    const timer = setTimeout(() => stop(tooSlow()), longestMs).unref();
    const cutOff = () => stop(badRequest("the body of the request was cut off"));
    stream.on("data", (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        stop(error);
      }
    });
    stream.on("end", () => {
      clearTimeout(timer);
      // It closes after each end, and an error that nobody hears costs as much as a small answer.
      stream.off("close", cutOff);
      resolve();
    });
    stream.on("error", cutOff);
    stream.on("close", cutOff);
  });
}

/** Until it ends, or enough is enough. */
function discardRest(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    let left = MOST_DISCARDED;
    const end = performance.now() + LONGEST_DISCARD_MS;
    const drop = ({ length }: Buffer) => {
      left -= length;
      if (left < 0 || performance.now() > end) stop();
      else timer.refresh();
    };
    const ends = ["end", "error", "close"];
    const stop = () => {
      clearTimeout(timer);
      stream.off("data", drop).pause();
      for (const event of ends) stream.off(event, stop);
      resolve();
    };
    const timer = setTimeout(stop, LONGEST_PAUSE_MS).unref();
    for (const event of ends) stream.on(event, stop);
    stream.on("data", drop).resume();
  });
}

const tooSlow = () => new StatusError(504, "Timeout", "Timeout: request did not complete within the allotted timeout");

const tooLarge = () =>
  new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${LARGEST_BODY}`);

function pretty(text: string): string {
  return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
}

/** What warnings may come to, all and each, in characters: clients refuse answers with larger heads. */
const MOST_WARNED = 4 * 1024;
const MOST_OF_ONE = 256;

/** All of them where there is room; else the beginning of each, for as many as there is. */
function shortened(warnings: readonly string[]): readonly string[] {
  if (warnings.reduce((sum, { length }) => sum + length, 0) <= MOST_WARNED) return warnings;
  return warnings.slice(0, MOST_WARNED / MOST_OF_ONE).map((text) => text.slice(0, MOST_OF_ONE));
}

/** RFC 7234, in the one form that clients of Kubernetes read. */
function warningHeader(text: string): string {
  const quoted = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  // Headers are Latin-1 in Node and UTF-8 for the readers; line ends would be headers of their own.
  const bytes = Buffer.from(quoted.replaceAll(/\p{Cc}/gu, " ")).toString("latin1");
  return `299 - "${bytes}"`;
}
