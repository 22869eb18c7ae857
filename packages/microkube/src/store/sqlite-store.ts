import { closeSync, fdatasync, openSync } from "node:fs";
import { promisify } from "node:util";
import { describeError } from "@fjord/base";
import { CurrentState, firstNotBefore } from "./current-state.ts";
import { RecentEvents } from "./recent-events.ts";
import { type LogEntry, RevisionLog } from "./revision-log.ts";
import {
  CannotKeep,
  Changed,
  Compacted,
  NotYet,
  type Store,
  type StoredObject,
  type StoreEvent,
  type StoreRange,
  type StoreWrite,
} from "./store.ts";
import { WatchHub } from "./watch-hub.ts";

export interface SqliteStoreOptions {
  /** A file that this process alone uses, or `:memory:`. */
  readonly path: string;
  /** What an acknowledged write survives: the end of the process, or also that of the machine. @default "process" */
  readonly survives?: "process" | "machine";
  /** Is told why nothing can be written, and, with undefined, that it can again. */
  readonly told?: (problem: string | undefined) => void;
  /** How much of the past is kept in memory. @default 2,000 events, 8 million characters */
  readonly recent?: { readonly events: number; readonly characters: number };
}

interface Batch {
  readonly entries: LogEntry[];
  readonly settle: { resolve(revision: number): void; reject(error: unknown): void; last: number }[];
}

const SQLITE_FULL = 13;
const TRY_AGAIN_MS = 1_000;

const emptyBatch = (): Batch => ({ entries: [], settle: [] });
const sync = promisify(fdatasync);

/**
 * The store on SQLite. The present is in memory as text; the past is in the log. All writes of one turn of the event
 * loop are one transaction, and while that is on its way to the disk the next ones gather.
 */
export class SqliteStore implements Store {
  readonly #log: RevisionLog;
  readonly #state = new CurrentState();
  readonly #hub = new WatchHub();
  readonly #recent: RecentEvents;
  /** What is written but not yet durable. */
  readonly #ahead = new Map<string, LogEntry>();
  /** The write-ahead log's file, where writes are to survive the machine. */
  readonly #wal: number | undefined;
  #revision: number;
  #compacted: number;
  /** The revision of the newest write that was accepted. */
  #last: number;
  #gathering = emptyBatch();
  #committing: Promise<void> | undefined;
  #broken: unknown;
  #problem: string | undefined;
  readonly #told: (problem: string | undefined) => void;

  constructor(options: SqliteStoreOptions) {
    const { path, survives = "process", recent = { events: 2000, characters: 8e6 }, told = () => {} } = options;
    this.#told = told;
    const synced = survives === "machine" && path !== ":memory:";
    this.#log = new RevisionLog(path, { synced });
    const { objects, revision, compacted } = this.#log.load();
    for (const object of objects.sort((a, b) => (a.key < b.key ? -1 : 1))) this.#state.set(object);
    this.#revision = revision;
    this.#last = revision;
    this.#compacted = compacted;
    this.#recent = new RecentEvents(revision, recent);
    this.#wal = synced ? openSync(`${path}-wal`, "r+") : undefined;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Why nothing can be written at the moment; undefined: it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get compacted(): number {
    return this.#compacted;
  }

  get(key: string): StoredObject | undefined {
    return this.#state.get(key);
  }

  head(key: string): StoredObject | undefined {
    const ahead = this.#ahead.get(key);
    if (ahead === undefined) return this.#state.get(key);
    return ahead.deleted ? undefined : ahead.object;
  }

  list(
    prefix: string,
    { limit = Number.POSITIVE_INFINITY, after, revision }: { limit?: number; after?: string; revision?: number } = {},
  ): StoreRange {
    const at = revision ?? this.#revision;
    const { items, from, to } = at === this.#revision ? this.#state.range(prefix) : this.#rangeAt(prefix, at);
    const begin = after === undefined ? from : Math.min(to, firstNotBefore(items, `${after}\0`, from));
    const end = Math.min(to, begin + limit);
    const page = items.slice(begin, end);
    const last = page.at(-1);
    if (end === to || last === undefined) return { items: page, revision: at };
    return { items: page, revision: at, next: last.key, remaining: to - end };
  }

  write(writes: readonly StoreWrite[]): Promise<number> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const batch = this.#gathering;
    const before = writes.map(({ key }) => this.head(key));
    for (const [index, { key, expected }] of writes.entries()) {
      const actual = before[index]?.revision ?? 0;
      if (actual !== expected) return Promise.reject(new Changed(key, actual));
    }
    let next = this.#last;
    const entries = writes.map(({ key, content }, index): LogEntry => {
      const previous = before[index];
      const revision = ++next;
      if (content !== undefined) return { deleted: false, object: { key, revision, ...content(revision) }, previous };
      if (previous === undefined) throw new Error(`cannot delete ${key}, which is not to be there`);
      return { deleted: true, object: { ...previous, revision, json: withRevision(previous, revision) }, previous };
    });
    this.#last = next;
    for (const entry of entries) this.#ahead.set(entry.object.key, entry);
    batch.entries.push(...entries);
    return new Promise((resolve, reject) => {
      batch.settle.push({ resolve, reject, last: next });
      this.#committing ??= this.#commitAll();
    });
  }

  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): () => void {
    for (const event of this.#eventsSince(after, prefix)) listener(event);
    return this.#hub.add(prefix, listener);
  }

  compact(revision: number): void {
    const upTo = Math.min(revision, this.#revision);
    if (upTo <= this.#compacted) return;
    try {
      this.#log.compact(this.#compacted, upTo, this.#revision);
    } catch (error) {
      // The past is kept a little longer: there will be another time.
      this.#cannotKeep(error);
      return;
    }
    this.#compacted = upTo;
  }

  /** Tries again whether it can, until it can: nobody may be writing who would find out. */
  #cannotKeep(error: unknown): CannotKeep {
    const { errcode } = error as { errcode?: number };
    const why = errcode === SQLITE_FULL ? "the disk is full" : describeError(error);
    if (this.#problem === undefined) setTimeout(() => this.#tryAgain(), TRY_AGAIN_MS).unref();
    this.#setProblem(why);
    return new CannotKeep(why, { cause: error });
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#told(problem);
  }

  #tryAgain(): void {
    if (this.#problem === undefined || this.#broken !== undefined) return;
    try {
      this.#log.tryToWrite();
      this.#setProblem(undefined);
    } catch {
      setTimeout(() => this.#tryAgain(), TRY_AGAIN_MS).unref();
    }
  }

  async close(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
    this.#broken ??= new Error("the store is closed");
    if (this.#wal !== undefined) closeSync(this.#wal);
    this.#log.close();
  }

  async #commitAll(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#gathering;
      this.#gathering = emptyBatch();
      await this.#commit(batch);
    } while (this.#gathering.settle.length > 0);
    this.#committing = undefined;
  }

  async #commit({ entries, settle }: Batch): Promise<void> {
    try {
      this.#log.append(entries);
      this.#setProblem(undefined);
    } catch (error) {
      this.#undo(settle, this.#cannotKeep(error));
      return;
    }
    try {
      if (this.#wal !== undefined) await sync(this.#wal);
    } catch (error) {
      // What is on the disk is unknown now: nothing more may be promised.
      this.#broken = new CannotKeep(describeError(error), { cause: error });
      this.#setProblem(describeError(error));
      this.#undo(settle, this.#broken);
      return;
    }
    for (const entry of entries) this.#publish(entry);
    for (const { resolve, last } of settle) resolve(last);
  }

  #publish(entry: LogEntry): void {
    const { object, deleted, previous } = entry;
    const { key, revision } = object;
    if (this.#ahead.get(key) === entry) this.#ahead.delete(key);
    if (deleted) this.#state.delete(key);
    else this.#state.set(object);
    this.#revision = revision;
    const type = deleted ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
    const event: StoreEvent =
      previous === undefined ? { type, revision, object } : { type, revision, object, previous };
    this.#recent.add(event);
    this.#hub.tell(event);
  }

  /** Nothing of a failed batch has happened, and so nothing of what was built upon it. */
  #undo(settle: Batch["settle"], error: unknown): void {
    const later = this.#gathering.settle;
    this.#gathering = emptyBatch();
    this.#ahead.clear();
    this.#last = this.#revision;
    for (const { reject } of [...settle, ...later]) reject(error);
  }

  #eventsSince(after: number, prefix: string): Iterable<StoreEvent> {
    if (after < this.#compacted) throw new Compacted(after, this.#compacted);
    if (after > this.#revision) throw new NotYet(after, this.#revision);
    if (after >= this.#recent.after) return this.#recent.since(after, prefix);
    return chain(this.#log.events(after, this.#recent.after, prefix), this.#recent.since(this.#recent.after, prefix));
  }

  /** As it was: the present, with what has changed since taken back. */
  #rangeAt(prefix: string, revision: number): { items: StoredObject[]; from: number; to: number } {
    const then = new Map<string, StoredObject | undefined>();
    for (const { object, previous } of this.#eventsSince(revision, prefix))
      if (!then.has(object.key)) then.set(object.key, previous);
    const { items, from, to } = this.#state.range(prefix);
    const kept = items.slice(from, to).filter(({ key }) => !then.has(key));
    const back = [...then.values()].filter((object) => object !== undefined);
    const all = back.length === 0 ? kept : [...kept, ...back].sort((a, b) => (a.key < b.key ? -1 : 1));
    return { items: all, from: 0, to: all.length };
  }
}

function* chain<T>(...parts: Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part;
}

/** Its text with another resource version. */
function withRevision({ json, revision }: StoredObject, next: number): string {
  return json.replace(`"resourceVersion":"${revision}"`, `"resourceVersion":"${next}"`);
}
