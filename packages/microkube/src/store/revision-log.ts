import { chmodSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { StoredObject, StoreEvent } from "./store.ts";

/** One write, as the log keeps it. */
export interface LogEntry {
  readonly deleted: boolean;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

interface Row {
  readonly revision: number;
  readonly key: string;
  readonly deleted: number;
  readonly previous: number;
  readonly selected: string;
  readonly json: string;
}

const layout = `
  CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    selected TEXT NOT NULL,
    json TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`;

/** An empty store is at revision 1, as etcd's: 0 means "any" in the API. */
const FIRST = 1;

/**
 * Every write of the recent past and the last of each object, in SQLite. What is appended survives the end of the
 * process at once; the end of the machine only after a sync of the file `wal`.
 */
export class RevisionLog {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #at: StatementSync;
  readonly #range: StatementSync;

  /** `synced`: whether SQLite orders its own writes for the loss of power. */
  constructor(path: string, { synced }: { synced: boolean }) {
    const database = new DatabaseSync(path);
    this.#database = database;
    try {
      // Secrets are in it, and the data directory may be one that others can read; the files beside it take over its mode.
      if (path !== ":memory:") chmodSync(path, 0o600);
      // One process owns the file: nothing is shared, and a second one is refused.
      database.exec("PRAGMA locking_mode = EXCLUSIVE");
      database.exec("PRAGMA journal_mode = WAL");
      database.exec(`PRAGMA synchronous = ${synced ? "NORMAL" : "OFF"}`);
      database.exec("PRAGMA cache_size = -1024");
      database.exec(layout);
    } catch (error) {
      database.close();
      throw error;
    }
    this.#insert = database.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)");
    this.#at = database.prepare("SELECT * FROM log WHERE revision = ?");
    this.#range = database.prepare("SELECT * FROM log WHERE revision > ? AND revision <= ? ORDER BY revision");
  }

  /** The last state of each object, in no order, and where the log begins and ends. */
  load(): { objects: StoredObject[]; revision: number; compacted: number } {
    const live = new Map<string, number>();
    let revision = Math.max(FIRST, this.#meta("revision"));
    // First without the texts, which are many times larger and for the most part superseded.
    for (const row of this.#database.prepare("SELECT revision, key, deleted FROM log ORDER BY revision").iterate()) {
      const { revision: at, key, deleted } = row as unknown as Row;
      if (deleted === 1) live.delete(key);
      else live.set(key, at);
      revision = Math.max(revision, at);
    }
    const objects = [...live.values()].map((at) => this.#object(this.#at.get(at) as unknown as Row));
    return { objects, revision, compacted: Math.max(FIRST, this.#meta("compacted")) };
  }

  /** All of them or none. */
  append(entries: readonly LogEntry[]): void {
    this.#transaction(() => {
      for (const { deleted, object, previous } of entries) {
        const selected = JSON.stringify([object.labels, object.fields]);
        const { revision, key, json } = object;
        this.#insert.run(revision, key, deleted ? 1 : 0, previous?.revision ?? 0, selected, json);
      }
    });
  }

  /** Throws where nothing can be written. As much as an object of some size, which is then taken back. */
  tryToWrite(): void {
    const set = this.#database.prepare("INSERT OR REPLACE INTO meta VALUES ('tried', zeroblob(?))");
    this.#transaction(() => set.run(64 * 1024));
    this.#database.exec("DELETE FROM meta WHERE name = 'tried'");
  }

  /** What was written after one revision up to another. */
  *events(after: number, upTo: number, prefix: string): Generator<StoreEvent> {
    for (const found of this.#range.iterate(after, upTo)) {
      const row = found as unknown as Row;
      if (!row.key.startsWith(prefix)) continue;
      const before = row.previous === 0 ? undefined : (this.#at.get(row.previous) as unknown as Row | undefined);
      const previous = before && this.#object(before);
      const type = row.deleted === 1 ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
      yield { type, revision: row.revision, object: this.#object(row), ...(previous && { previous }) };
    }
  }

  /** Forgets what no list at `upTo` or later, and no watch from there, can show. `revision` is the newest that there is. */
  compact(from: number, upTo: number, revision: number): void {
    this.#transaction(() => {
      const superseded = "SELECT previous FROM log WHERE revision > ? AND revision <= ?";
      this.#database.prepare(`DELETE FROM log WHERE revision IN (${superseded})`).run(from, upTo);
      this.#database.prepare("DELETE FROM log WHERE revision > ? AND revision <= ? AND deleted = 1").run(from, upTo);
      const set = this.#database.prepare(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
      );
      set.run("compacted", upTo);
      set.run("revision", revision);
    });
  }

  close(): void {
    this.#database.close();
  }

  #meta(name: string): number {
    const row = this.#database.prepare("SELECT value FROM meta WHERE name = ?").get(name);
    return (row?.value as number | undefined) ?? 0;
  }

  #object({ key, revision, selected, json }: Row): StoredObject {
    const [labels, fields] = JSON.parse(selected) as [Record<string, string>, Record<string, string>];
    return { key, revision, json, labels, fields };
  }

  #transaction(work: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      // A full disk may have rolled back already.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
