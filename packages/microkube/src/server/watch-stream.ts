import { type Clock, describeError, type Logger, type Random } from "@fjord/base";
import type { ResourceType } from "../kinds/resource-type.ts";
import { prefixFor, type Registry, type Selection } from "../registry/index.ts";
import { expired, type StatusError } from "../status-error.ts";
import { Compacted, type StoredObject, type StoreEvent } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import type { Rendering } from "./rendering.ts";
import { WatchBacklog } from "./watch-backlog.ts";
import { type FrameCache, frame, seenAs } from "./watch-frame.ts";
import type { WatchOutbox } from "./watch-outbox.ts";

export interface WatchQuery {
  readonly type: ResourceType;
  readonly version: string;
  readonly namespace: string;
  readonly selection: Selection;
  /** Undefined or 0: what is there first, then what changes. */
  readonly revision: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean;
  /** Undefined: as long as the server likes. */
  readonly timeoutMs: number | undefined;
}

export interface WatchMeans {
  readonly registry: Registry;
  readonly frames: FrameCache;
  readonly outbox: WatchOutbox;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const BOOKMARK_MS = 60_000;
const SHORTEST_MS = 30 * 60_000;
/** As many changes may wait to be rendered for a reader that takes nothing. */
const MOST_QUEUED = 1_000;

/** Answers a watch, until its time is over or its reader is gone. */
export class WatchStream {
  readonly #exchange: Exchange;
  readonly #query: WatchQuery;
  readonly #rendering: Rendering;
  readonly #means: WatchMeans;
  #isFirst = true;
  #stop: () => void = () => {};
  #cancelTimers: (() => void)[] = [];
  /** What is still to be rendered, in order; undefined while nothing is. */
  #queue: Promise<void> | undefined;
  #changesQueued = 0;
  #hasEnded = false;
  readonly #backlog: WatchBacklog;

  constructor(exchange: Exchange, query: WatchQuery, rendering: Rendering, means: WatchMeans) {
    this.#exchange = exchange;
    this.#query = query;
    this.#rendering = rendering;
    this.#means = means;
    this.#backlog = new WatchBacklog(exchange.response, means);
  }

  start(): void {
    const { response } = this.#exchange;
    const { timeoutMs = SHORTEST_MS * (1 + this.#means.random()) } = this.#query;
    this.#exchange.audit?.started(200);
    response.writeHead(200, this.#exchange.headers("application/json"));
    response.flushHeaders();
    response.on("close", () => this.#finish());
    if (this.#exchange.method === "HEAD") {
      response.end();
      return;
    }
    const { clock } = this.#means;
    this.#cancelTimers.push(clock.after(timeoutMs, () => this.end()));
    if (this.#query.bookmarks) this.#scheduleBookmark();
    try {
      this.#follow();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends it in good order: the reader may go on from the last bookmark. */
  end(): void {
    if (this.#hasEnded) return;
    if (this.#query.bookmarks) this.#bookmark({});
    const finish = () => {
      this.#finish();
      this.#backlog.end();
    };
    if (this.#queue === undefined) finish();
    else void this.#queue.then(finish);
  }

  #follow(): void {
    const { registry } = this.#means;
    const { type, namespace, selection, revision, sendInitialEvents } = this.#query;
    const prefix = prefixFor(
      type,
      selection.namespace !== undefined && namespace === "" ? selection.namespace : namespace,
    );
    const { store } = registry;
    let after = revision ?? 0;
    if (sendInitialEvents || after === 0) {
      const { items, revision: now } = store.list(prefix);
      if (selection.among === undefined) {
        for (const object of items) if (selection.matches(object)) this.#send("ADDED", object, undefined);
      } else this.#enqueue(() => this.#sendChosen(items));
      if (sendInitialEvents && this.#query.bookmarks) {
        this.#bookmark({ "k8s.io/initial-events-end": "true" });
      }
      after = now;
    }
    // What is yet to come is waited for.
    const from = Math.min(after, store.revision);
    this.#stop = store.watch(prefix, from, (event) => {
      if (event.revision > after) this.#tell(event);
    });
    if (this.#hasEnded) this.#stop();
  }

  #tell(event: StoreEvent): void {
    const { selection } = this.#query;
    if (selection.isEverything) {
      this.#send(event.type, event.object, event);
      return;
    }
    if (selection.among !== undefined) {
      this.#enqueue(() => this.#tellChosen(event), true);
      return;
    }
    const seen = seenAs(event, (object) => selection.matches(object));
    if (seen !== undefined) this.#send(seen.type, seen.object, seen.isMade ? undefined : event);
  }

  /** As `#follow` does, where selection takes time. */
  async #sendChosen(items: readonly StoredObject[]): Promise<void> {
    const chosen = await this.#query.selection.among?.(items);
    for (const object of items) {
      if (!chosen?.has(object)) continue;
      await this.#backlog.room();
      await this.#sendNow("ADDED", object);
    }
  }

  /** As `#tell` does, where selection takes time. */
  async #tellChosen(event: StoreEvent): Promise<void> {
    const { object, previous } = event;
    const chosen = await this.#query.selection.among?.(previous === undefined ? [object] : [object, previous]);
    const seen = seenAs(event, (one) => chosen?.has(one) ?? false);
    if (seen !== undefined) await this.#sendNow(seen.type, seen.object);
  }

  async #sendNow(type: string, object: StoredObject): Promise<void> {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#write(frame(type, await this.#rendering.event(object, isFirst)));
  }

  #send(type: string, object: StoredObject, event: StoreEvent | undefined): void {
    if (this.#hasEnded) return;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const { isShared } = this.#rendering;
    const text = isShared && this.#queue === undefined ? this.#rendering.event(object, isFirst) : undefined;
    if (typeof text === "string") {
      const make = () => frame(type, text);
      // Of what was there before each has its own, and so only when it is read.
      if (event === undefined) this.#backlog.addLater(text.length, make);
      else this.#write(this.#means.frames.get(event, type, make));
      return;
    }
    const later = text ?? (() => this.#rendering.event(object, isFirst));
    this.#enqueue(async () => {
      if (event === undefined) await this.#backlog.room();
      this.#write(frame(type, await (typeof later === "function" ? later() : later)));
    }, event !== undefined);
  }

  #enqueue(work: () => void | Promise<void>, isChange = false): void {
    if (isChange && ++this.#changesQueued > MOST_QUEUED && this.#backlog.isStalled) {
      this.#backlog.cutOff();
      return;
    }
    const queue: Promise<void> = (this.#queue ?? Promise.resolve()).then(work).catch((error) => this.#fail(error));
    this.#queue = queue;
    void queue.then(() => {
      if (isChange) this.#changesQueued--;
      if (this.#queue === queue) this.#queue = undefined;
    });
  }

  #bookmark(annotations: Record<string, string>): void {
    const { type, version } = this.#query;
    const apiVersion = type.group === "" ? version : `${type.group}/${version}`;
    const metadata = {
      resourceVersion: String(this.#means.registry.store.revision),
      creationTimestamp: null,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    };
    const bytes = frame("BOOKMARK", JSON.stringify({ kind: type.kind, apiVersion, metadata }));
    if (this.#queue === undefined) this.#write(bytes);
    else this.#enqueue(() => this.#write(bytes));
  }

  #scheduleBookmark(): void {
    const cancel = this.#means.clock.after(BOOKMARK_MS, () => {
      if (this.#hasEnded) return;
      this.#bookmark({});
      this.#cancelTimers = this.#cancelTimers.filter((one) => one !== cancel);
      this.#scheduleBookmark();
    });
    this.#cancelTimers.push(cancel);
  }

  #write(bytes: Buffer): void {
    if (!this.#hasEnded) this.#backlog.add(bytes);
  }

  /** In a watch even refusals are events. */
  #fail(error: unknown): void {
    const status = statusOf(error, this.#query.revision);
    if (status === undefined) {
      this.#means.logger.error("a watch has failed", { kind: this.#query.type.kind, error: describeError(error) });
      this.#finish();
      this.#exchange.response.destroy();
      return;
    }
    this.#write(frame("ERROR", JSON.stringify(status.status)));
    this.#finish();
    this.#backlog.end();
  }

  #finish(): void {
    this.#hasEnded = true;
    this.#stop();
    for (const cancel of this.#cancelTimers.splice(0)) cancel();
    if (this.#exchange.response.destroyed) this.#backlog.close();
  }
}

function statusOf(error: unknown, revision: number | undefined): StatusError | undefined {
  if (!(error instanceof Compacted)) return undefined;
  return expired(`too old resource version: ${revision} (${error.compacted})`);
}
