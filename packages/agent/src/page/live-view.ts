import type { ServerResponse } from "node:http";
import { type Clock, describeError, type Logger, onAbort } from "@fjord/base";
import type { AccessRights } from "./access-rights.ts";
import type { Collector } from "./collector.ts";
import { changesBetween } from "./model/changes.ts";
import type { Picture } from "./model/picture.ts";
import type { Snapshot, ViewerView } from "./model/snapshot.ts";
import { type Focus, snapshotFor } from "./model/visible.ts";

export interface LiveViewOptions {
  readonly collector: Collector;
  readonly rights: AccessRights;
  readonly viewer: Omit<ViewerView, "hidden">;
  readonly focus: Focus;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Changes are gathered for this long, and for longer where they cost more to tell. */
const GATHER_MS = 200;
const RETRY_MS = 2_000;
/** A viewer who takes no more is told the next things later, together. */
const MOST_WAITING = 1024 * 1024;
/** Now and then something is said, so that a dead connection is noticed; and rights are looked at again. */
const REMINDER_MS = 15_000;

/** What one viewer sees at this moment. */
export async function currentView(options: LiveViewOptions, signal: AbortSignal): Promise<Snapshot> {
  const { collector, rights, viewer, focus } = options;
  const picture = await collector.picture(signal);
  return snapshotFor(picture, viewer, await rights.rights(namespacesOf(picture), signal), focus);
}

/** One open page: a snapshot, then what changes, as server-sent events, until either side ends it. */
export class LiveView {
  readonly #options: LiveViewOptions;
  readonly #response: ServerResponse;
  #sent: Snapshot | undefined;
  #costMs = 0;
  #busy = false;
  #again = false;
  #cancel: (() => void) | undefined;

  constructor(options: LiveViewOptions, response: ServerResponse) {
    this.#options = options;
    this.#response = response;
  }

  async run(signal: AbortSignal): Promise<void> {
    const response = this.#response;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    response.write("retry: 1000\n\n");
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const stop = new AbortController();
    response.on("close", end).on("error", end);
    const release = onAbort(signal, end);
    const unwatch = this.#options.collector.watch(() => this.#soon(stop.signal));
    const reminder = setInterval(() => {
      response.write(": still here\n\n");
      this.#soon(stop.signal);
    }, REMINDER_MS);
    await this.#tell(stop.signal);
    await ended;
    stop.abort();
    clearInterval(reminder);
    this.#cancel?.();
    unwatch();
    release();
    response.end();
  }

  #soon(signal: AbortSignal): void {
    if (this.#busy) this.#again = true;
    if (this.#busy || this.#cancel !== undefined || signal.aborted) return;
    this.#cancel = this.#options.clock.after(Math.max(GATHER_MS, 10 * this.#costMs), () => {
      this.#cancel = undefined;
      void this.#tell(signal);
    });
  }

  async #tell(signal: AbortSignal): Promise<void> {
    this.#busy = true;
    try {
      if (this.#response.writableLength > MOST_WAITING) {
        this.#again = true;
        return;
      }
      const view = await currentView(this.#options, signal);
      const start = performance.now();
      if (this.#sent === undefined) this.#write("snapshot", view);
      else {
        const changes = changesBetween(this.#sent, view);
        if (changes !== undefined) this.#write("changes", changes);
      }
      this.#costMs = performance.now() - start;
      this.#sent = view;
    } catch (error) {
      if (signal.aborted) return;
      this.#options.logger.warn("cannot tell the page what changed", { error: describeError(error) });
      this.#costMs = RETRY_MS / 10;
      this.#again = true;
    } finally {
      this.#busy = false;
      if (this.#again) this.#soon(signal);
      this.#again = false;
    }
  }

  #write(event: string, data: unknown): void {
    this.#response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

function namespacesOf({ workloads, world }: Picture): Set<string> {
  const namespaces = new Set(Object.values(workloads).map(({ namespace }) => namespace));
  for (const { metadata } of world.events) if (metadata.namespace !== undefined) namespaces.add(metadata.namespace);
  return namespaces;
}
