import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@fjord/base";
import type { Caller } from "../../peer-routes.ts";
import type { AuditSink } from "./audit.ts";

/** The same request on its way to the API server. */
interface Upstream {
  destroy(): void;
}

/** One request of a tenant from its beginning to its audit line. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  /** Below the proxy's prefix. */
  readonly url: string;
  verb: string;
  resource = "";
  status = 0;
  refusedByProxy = false;
  bodyBytes = 0;
  /** Leaves no line in the audit. */
  quiet = false;
  /** The API server may have seen it. */
  sent = false;
  readonly #clock: Clock;
  /** The request itself forgets it when it is given up. */
  readonly #socket: Socket;
  readonly #began: number;
  readonly #read: number;
  readonly #written: number;
  #upstream: Upstream | undefined;
  #cut = false;
  #onEnd: (() => void) | undefined;
  #over = false;

  constructor(request: IncomingMessage, caller: Caller, url: string, clock: Clock) {
    this.request = request;
    this.caller = caller;
    this.url = url;
    this.verb = request.method ?? "";
    this.#clock = clock;
    this.#began = clock.now();
    this.#socket = request.socket;
    this.#read = this.#socket.bytesRead ?? 0;
    this.#written = this.#socket.bytesWritten ?? 0;
  }

  /** The contract ended, or the consumer has gone. */
  get cut(): boolean {
    return this.#cut;
  }

  get ms(): number {
    return this.#clock.now() - this.#began;
  }

  /** Called once, when it is over. */
  onEnd(ended: () => void): void {
    this.#onEnd = ended;
  }

  reaches(upstream: Upstream): void {
    this.#upstream = upstream;
    if (this.#cut) upstream.destroy();
  }

  /** Ends it wherever it is, towards both sides. */
  end(): void {
    this.#cut = true;
    this.#upstream?.destroy();
    this.#socket.destroy();
  }

  /** The consumer is there no more: nobody waits for the answer. */
  abandon(): void {
    this.#cut = true;
    this.#upstream?.destroy();
  }

  over(audit: AuditSink): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnd?.();
    if (this.quiet) return;
    const question = this.url.indexOf("?");
    audit({
      time: this.#began,
      consumer: this.caller.id,
      verb: this.verb,
      path: (question === -1 ? this.url : this.url.slice(0, question)).slice(0, 1024),
      status: this.status,
      ms: this.ms,
      // A small body has come with the headers.
      bytesIn: Math.max(this.bodyBytes, (this.#socket.bytesRead ?? 0) - this.#read),
      bytesOut: Math.max(0, (this.#socket.bytesWritten ?? 0) - this.#written),
      ...(this.refusedByProxy ? { refusedBy: "proxy" } : {}),
    });
  }
}
