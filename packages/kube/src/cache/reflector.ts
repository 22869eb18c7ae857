import { Backoff, describeError, type FjordError, type KubeObject, onAbort, sleep } from "@fjord/base";
import { ApiError, isGone } from "../client/api-error.ts";
import type { ListOptions, ObjectList, WatchEvent } from "../client/interfaces.ts";
import { LONGEST_TOKEN, MOST_PAGES } from "../client/list-pages.ts";
import {
  CacheFull,
  ListTimedOut,
  ListWithoutEnd,
  RevisionWentBack,
  VersionMissing,
  WatchClosedEarly,
  WatchContradiction,
} from "./errors.ts";
import type { Mirror, MirrorList } from "./mirror.ts";
import {
  defaultTiming,
  longestRetryAfterMs,
  mostIdlePages,
  type ReflectorHealth,
  type ReflectorOptions,
  type ReflectorTiming,
} from "./reflector-options.ts";
import { compareResourceVersions, isNotNewer } from "./resource-version.ts";
import { keyTextOf } from "./store.ts";

/**
 * Keeps a mirror in line with the server: lists in pages, then watches from there, and after any break goes on where it
 * stood. It lists again only when it must, and waits longer after each failure in a row, whatever its kind; only a watch
 * that has held for a while makes the wait short again. The reasons are in README.md beside this file.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #timing: ReflectorTiming;
  readonly #mirror: Mirror<T>;
  readonly #backoff: Backoff;
  /** The resource version that the mirror stands at; undefined: it has to be listed. */
  #position: string | undefined;
  /** False after a break, until the server has shown that it still has the history that led to `#position`. */
  #trusted = false;
  #expiredPages = 0;
  /** Whether a list was made or begun at once since a watch held last: the next reason to list again has to wait. */
  #listed = false;
  #lastDelay = 0;
  #lastError: ReflectorHealth["lastError"];

  constructor(options: ReflectorOptions<T>, mirror: Mirror<T>) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#mirror = mirror;
    const { backoffInitialMs: initial, backoffMaxMs: max } = this.#timing;
    this.#backoff = new Backoff({ initial, max, random: options.random });
  }

  get health(): ReflectorHealth {
    return {
      synced: this.#mirror.complete,
      untransformed: this.#mirror.untransformed,
      failures: this.#backoff.failures,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      ...(this.#position !== undefined && { resourceVersion: this.#position }),
    };
  }

  /** Resolves once `signal` aborts. `onList` is called whenever a list has been taken over. */
  async run(signal: AbortSignal, onList: () => void = () => {}): Promise<void> {
    this.#trusted = false;
    while (!signal.aborted) {
      try {
        await this.#catchUp(signal, onList);
        if (!signal.aborted) await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        await sleep(this.#options.clock, this.#failed(error), signal);
      }
    }
  }

  /** Makes the mirror stand at a resource version from which a watch gives all that follows. */
  async #catchUp(signal: AbortSignal, onList: () => void): Promise<void> {
    while (this.#position === undefined || !this.#trusted) {
      if (this.#position === undefined) {
        await this.#list(signal);
        onList();
      } else if (await this.#verify(this.#position, signal)) this.#trusted = true;
      else this.#position = undefined;
    }
  }

  /**
   * Reads the latest state, never a possibly stale one from a server's cache (resource version "0"): with several API
   * servers that could take the mirror back in time. An expired page token starts the list anew; after the second time
   * in a row the list is asked for in one piece, so that it ends at some point. Pages are not trusted as one list before
   * they are verified: between two of them the server may have been replaced. Pages that come to no end are treated as
   * an expired token is.
   */
  async #list(signal: AbortSignal): Promise<void> {
    const list = this.#mirror.beginList();
    try {
      await this.#listInto(list, signal);
    } catch (error) {
      list.abandon();
      throw error;
    }
  }

  async #listInto(list: MirrorList<T>, signal: AbortSignal): Promise<void> {
    const limit = this.#expiredPages < 2 ? { limit: this.#timing.pageSize } : {};
    const tokens = new Set<string>();
    let token: string | undefined;
    let version: string | undefined;
    let pages = 0;
    let idlePages = 0;
    do {
      const page: ObjectList<T> = await this.#page(
        { ...limit, ...(token !== undefined && { continue: token }) },
        signal,
      ).catch((error) => {
        if (token !== undefined && isGone(error)) this.#expiredPages++;
        throw error;
      });
      idlePages = list.page(page.items).fresh > 0 ? 0 : idlePages + 1;
      pages++;
      version ||= page.metadata.resourceVersion;
      token = page.metadata.continue || undefined;
      if (token === undefined) break;
      if (tokens.has(token)) throw this.#endless("a page token came twice");
      if (token.length > LONGEST_TOKEN) throw this.#endless("a page token is too long");
      if (pages >= MOST_PAGES) throw this.#endless(`there are over ${MOST_PAGES} pages`);
      if (idlePages > mostIdlePages) throw this.#endless(`${idlePages} pages in a row held nothing new`);
      tokens.add(token);
    } while (token !== undefined);
    list.end();
    this.#expiredPages = 0;
    this.#listed = true;
    this.#position = version || "0";
    this.#trusted = pages === 1;
  }

  #endless(reason: string): FjordError {
    this.#expiredPages++;
    return new ListWithoutEnd({ kind: this.#options.kind.kind, reason });
  }

  /**
   * Whether the server's state at `position` is what the mirror holds. A server that was restored from a backup gives
   * the same revisions to other writes: going on from `position` would silently skip some of them.
   */
  async #verify(position: string, signal: AbortSignal): Promise<boolean> {
    try {
      const page = await this.#page(
        { resourceVersion: position, resourceVersionMatch: "Exact", limit: this.#timing.verifySize },
        signal,
      );
      return this.#mirror.agrees(page.items, !page.metadata.continue);
    } catch (error) {
      if (isGone(error) || isTooLargeResourceVersion(error)) return false;
      // A server that cannot list exact versions: its watch has to be trusted.
      if (error instanceof ApiError && [400, 405, 501].includes(error.statusCode)) return true;
      throw error;
    }
  }

  async #page(options: ListOptions, signal: AbortSignal): Promise<ObjectList<T>> {
    const { client, kind, scope, clock, omitManagedFields } = this.#options;
    const { listTimeoutMs } = this.#timing;
    const controller = new AbortController();
    const release = onAbort(signal, () => controller.abort(signal.reason));
    const cancel = clock.after(listTimeoutMs, () =>
      controller.abort(new ListTimedOut({ kind: kind.kind, seconds: listTimeoutMs / 1000 })),
    );
    try {
      return await client.list(kind, { ...scope, ...options, omitManagedFields, signal: controller.signal });
    } catch (error) {
      if (controller.signal.reason instanceof ListTimedOut) throw controller.signal.reason;
      throw error;
    } finally {
      cancel();
      release();
    }
  }

  /** Watches until the time asked for is over; throws when the watch ends in any other way. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { client, kind, scope, clock, random, omitManagedFields } = this.#options;
    const { watchTimeoutMs, idleTimeoutMs, stableMs } = this.#timing;
    const timeoutSeconds = Math.ceil((watchTimeoutMs * (0.5 + random() / 2)) / 1000);
    const opened = clock.now();
    // Longer than the last wait, or a server that ends each watch after a few seconds would be asked for ever as fast.
    const cancel = clock.after(Math.max(stableMs, this.#lastDelay), () => this.#settled());
    try {
      const events = client.watch(kind, {
        ...scope,
        resourceVersion: this.#position,
        allowBookmarks: true,
        timeoutSeconds,
        idleTimeoutMs,
        omitManagedFields,
        signal,
      });
      for await (const event of events) this.#take(event);
    } finally {
      cancel();
    }
    const lived = clock.now() - opened;
    if (signal.aborted || lived >= timeoutSeconds * 1000 - 1000) return;
    throw new WatchClosedEarly({ kind: kind.kind, ms: lived });
  }

  #take(event: WatchEvent<T>): void {
    const version = event.object.metadata.resourceVersion ?? "";
    const position = this.#position ?? "0";
    const { kind } = this.#options.kind;
    if (event.type === "BOOKMARK") {
      if (version === "") return;
      if ((compareResourceVersions(version, position) ?? 0) < 0)
        throw new RevisionWentBack({ kind, from: position, to: version });
      this.#position = version;
      return;
    }
    if (version === "") throw new VersionMissing({ kind, type: event.type, key: keyTextOf(event.object) });
    // Sent before: within one history a watch only goes forward.
    if (isNotNewer(version, position)) return;
    const follows = this.#mirror.apply(event.type, event.object);
    this.#position = version;
    if (!follows) throw new WatchContradiction({ kind, type: event.type, key: keyTextOf(event.object) });
  }

  #settled(): void {
    this.#backoff.reset();
    this.#lastDelay = 0;
    this.#listed = false;
    this.#lastError = undefined;
  }

  /** Notes a failure and gives the time to wait. Whatever was thrown, even what throws when looked at, ends nothing. */
  #failed(error: unknown): number {
    this.#tell(error);
    try {
      return this.#note(error);
    } catch (fault) {
      this.#lastError = { error: fault, at: this.#options.clock.now() };
      this.#position = undefined;
      this.#lastDelay = this.#backoff.next();
      return this.#lastDelay;
    }
  }

  #tell(error: unknown): void {
    const { onFailure, logger, kind } = this.#options;
    try {
      onFailure?.(error);
    } catch (fault) {
      logger.error("cannot tell of a reflector's failure", { kind: kind.kind, error: describeError(fault) });
    }
  }

  #note(error: unknown): number {
    const { clock, logger, kind } = this.#options;
    this.#trusted = false;
    if (isOutOfDate(error)) this.#position = undefined;
    if (isOutOfDate(error) && !this.#listed) {
      // At once, but once: a server may answer this to each list too.
      this.#listed = true;
      logger.debug("reflector lists again", { kind: kind.kind, error: describeError(error) });
      return 0;
    }
    const known = this.#lastError !== undefined && describeError(this.#lastError.error) === describeError(error);
    this.#lastError = { error, at: clock.now() };
    this.#lastDelay = Math.max(this.#backoff.next(), retryAfterMs(error));
    const fields = {
      kind: kind.kind,
      error: describeError(error),
      failures: this.#backoff.failures,
      retryInMs: Math.round(this.#lastDelay),
    };
    // The same failure again is no news.
    if (known || error instanceof WatchClosedEarly) logger.debug("reflector interrupted", fields);
    else logger.warn("reflector interrupted", fields);
    return this.#lastDelay;
  }
}

/** Only a list can help: the server has forgotten the position, or has another history. */
function isOutOfDate(error: unknown): boolean {
  if (error instanceof WatchContradiction || error instanceof RevisionWentBack || error instanceof VersionMissing)
    return true;
  // Some of it may be gone by now.
  if (error instanceof CacheFull) return true;
  return isGone(error) || isTooLargeResourceVersion(error);
}

/** The server has not reached, or no longer has, the revision asked for. */
function isTooLargeResourceVersion(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  // Whoever answered wrote this: it may be anything.
  const causes: unknown = error.details?.causes;
  return Array.isArray(causes) && causes.some((cause) => cause?.reason === "ResourceVersionTooLarge");
}

/** How long the server asks to be left alone, within reason. */
function retryAfterMs(error: unknown): number {
  const seconds: unknown = error instanceof ApiError ? error.details?.retryAfterSeconds : undefined;
  if (typeof seconds !== "number" || !(seconds > 0)) return 0;
  return Math.min(seconds * 1000, longestRetryAfterMs);
}
