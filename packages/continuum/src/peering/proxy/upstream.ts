import { once } from "node:events";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import {
  type ClusterConfig,
  ConnectionError,
  type HttpHeaders,
  type HttpMethod,
  type HttpResponse,
  type StreamResponse,
  Transport,
} from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { ApiServer } from "./api-server.ts";
import type { Decision } from "./decide.ts";
import type { Exchange } from "./exchange.ts";

/** Of one tenant; more of its own wait in line, and nobody else's. */
const WRITES_AT_ONCE = 64;
/** Of one watch or log, while its consumer takes its time: there may be hundreds that nobody reads. */
const HELD_BYTES = 32 * 1024;
/** An object is at most 3 MB, but for what an API server itself notes of it. */
const LARGEST_ANSWER = 32 * 1024 * 1024;

/** Sends what was admitted to the API server. */
export class Upstream {
  readonly #api: ApiServer;
  readonly #config: ClusterConfig;
  /** Each tenant has connections of its own: one whose writes take long must not keep others waiting. */
  readonly #writes = new Map<SiteId, Transport>();
  /** For what lasts: each has a connection to itself, so that tenants share nothing but what it is made with. */
  readonly #streams: Transport;

  constructor(config: ClusterConfig) {
    this.#config = config;
    this.#api = new ApiServer(config);
    this.#streams = new Transport(config, { compress: false, closeGraceMs: 0 });
  }

  close(): void {
    this.#api.close();
    void this.#streams.close();
    for (const consumer of [...this.#writes.keys()]) this.forget(consumer);
  }

  /** Lets the connections of a tenant go that is one no more. */
  forget(consumer: SiteId): void {
    const writes = this.#writes.get(consumer);
    this.#writes.delete(consumer);
    void writes?.close();
  }

  /** A request that its exchange can end, not sent yet. */
  async open(exchange: Exchange, decision: Decision, headers: OutgoingHttpHeaders): Promise<ClientRequest> {
    const { stream: alone, target: path } = decision;
    const method = exchange.request.method ?? "";
    const upstream = await this.#api.open({ method, path, headers, alone });
    exchange.reaches(upstream);
    return upstream;
  }

  async read(exchange: Exchange, decision: Decision, headers: OutgoingHttpHeaders): Promise<IncomingMessage> {
    for (let again = false; ; again = true) {
      const upstream = await this.open(exchange, decision, headers);
      upstream.end();
      try {
        return await this.#answerOf(upstream);
      } catch (error) {
        // The server closed an idle connection just as it was used again.
        if (again || exchange.cut || !upstream.reusedSocket) throw error;
      }
    }
  }

  /** A watch, or a log that is followed: it begins now, and goes on until either side ends it. */
  async stream(exchange: Exchange, { verb, path, target }: Decision, headers: HttpHeaders): Promise<StreamResponse> {
    const stop = new AbortController();
    exchange.reaches({ destroy: () => stop.abort() });
    return await this.#streams.stream({
      method: "GET",
      path: target,
      headers,
      signal: stop.signal,
      action: `${verb} ${path.resource}`,
      retryTooManyRequests: false,
      heldBytes: HELD_BYTES,
    });
  }

  /**
   * Writes and their answers are small, and are passed on whole: over connections of our own, which cost half of what
   * Node's do.
   */
  async write(
    exchange: Exchange,
    { verb, path, target }: Decision,
    headers: HttpHeaders,
    body: Buffer,
  ): Promise<HttpResponse> {
    const stop = new AbortController();
    exchange.reaches({ destroy: () => stop.abort() });
    try {
      return await this.#writesOf(exchange.caller.id).request({
        method: exchange.request.method as HttpMethod,
        path: target,
        headers,
        body,
        signal: stop.signal,
        action: `${verb} ${path.resource}`,
        // The consumer is told, and waits as it sees fit.
        retryTooManyRequests: false,
      });
    } catch (error) {
      exchange.sent = error instanceof ConnectionError && error.sent;
      throw error;
    }
  }

  #writesOf(consumer: SiteId): Transport {
    const known = this.#writes.get(consumer);
    if (known !== undefined) return known;
    const made = new Transport(this.#config, { connections: WRITES_AT_ONCE, maxBodyBytes: LARGEST_ANSWER });
    this.#writes.set(consumer, made);
    return made;
  }

  async #answerOf(upstream: ClientRequest): Promise<IncomingMessage> {
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    if (answer.statusCode === 401) this.#api.rejected();
    return answer;
  }
}
