import type { ServerResponse } from "node:http";
import type { KubeObject } from "@fjord/base";
import type { BodyWriter } from "./body-writer.ts";
import type { Fault } from "./fault.ts";
import type { Change } from "./revision-store.ts";
import type { Selector } from "./selector.ts";
import { type StatusBody, statusOf } from "./status.ts";

export interface WatchRequest {
  readonly resource: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly selector: Selector;
  /** Only what was written after this revision is sent. */
  readonly after: number;
  readonly bookmarks: boolean;
}

/** How a watch can be broken while it runs. */
export type Break = "close" | "reset" | "silence" | "gone" | "truncate";

type StreamFault = Extract<Fault, { afterEvents?: number }>;

/** One open watch. */
export class WatchConnection {
  readonly request: WatchRequest;
  readonly #response: ServerResponse;
  readonly #body: BodyWriter;
  readonly #faults: StreamFault[];
  readonly #twice: boolean;
  #events = 0;
  #broken = false;

  constructor(request: WatchRequest, response: ServerResponse, body: BodyWriter, faults: readonly Fault[]) {
    this.request = request;
    this.#response = response;
    this.#body = body;
    this.#faults = faults.filter((fault): fault is StreamFault => streamFaults.has(fault.type));
    this.#twice = faults.some((fault) => fault.type === "duplicate");
  }

  open(): void {
    this.#response.writeHead(200, { "content-type": "application/json" });
    this.#response.flushHeaders();
    this.#strike();
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** Sends a change if this watch asked for it, in the form in which its selector sees it. */
  change(change: Change, replay = false): void {
    const { resource, namespace, selector, after } = this.request;
    if (change.resource !== resource || (change.revision <= after && !replay)) return;
    if (namespace !== undefined && change.object.metadata.namespace !== namespace) return;
    const was = change.previous !== undefined && selector(change.previous);
    const is = change.type !== "DELETED" && selector(change.object);
    if (!was && !is) return;
    this.#event(was ? (is ? "MODIFIED" : "DELETED") : "ADDED", change.object);
  }

  bookmark(revision: number): void {
    // One that is slow to write gets none, or they would pile up.
    if (!this.request.bookmarks || revision < this.request.after || this.#body.busy) return;
    const { apiVersion, kind } = this.request;
    this.#line({ type: "BOOKMARK", object: { apiVersion, kind, metadata: { resourceVersion: String(revision) } } });
  }

  /** Sends at full speed from here on. */
  hurry(): void {
    this.#body.hurry();
  }

  error(status: StatusBody): void {
    this.#line({ type: "ERROR", object: status });
    this.break("close");
  }

  /** Breaks the watch now. */
  break(how: Break): void {
    if (this.#broken) return;
    if (how === "gone") this.#line({ type: "ERROR", object: statusOf(410, "too old resource version").body });
    if (how === "truncate") this.#body.write('{"type":"MODIFIED","object":{"apiVersion":"v1","met');
    this.#broken = true;
    if (how === "reset") this.#response.socket?.resetAndDestroy();
    if (how === "reset" || how === "silence") this.#body.stop();
    else this.#body.end();
  }

  #event(type: string, object: KubeObject): void {
    if (this.#broken) return;
    const truncate = this.#faults.find((fault) => fault.type === "truncate");
    if (truncate !== undefined && this.#events >= (truncate.afterEvents ?? 0)) {
      const line = JSON.stringify({ type, object });
      this.#broken = true;
      this.#body.write(line.slice(0, line.length / 2));
      this.#body.end();
      return;
    }
    this.#line({ type, object });
    if (this.#twice) this.#line({ type, object });
    this.#events++;
    this.#strike();
  }

  #strike(): void {
    for (const fault of this.#faults) {
      if (fault.type !== "truncate" && this.#events >= (fault.afterEvents ?? 0)) this.break(fault.type);
    }
  }

  #line(value: unknown): void {
    if (!this.#broken) this.#body.write(`${JSON.stringify(value)}\n`);
  }
}

const streamFaults = new Set<Fault["type"]>(["close", "reset", "silence", "gone", "truncate"]);
