import type { DatabaseSync } from "node:sqlite";
import { StoreNewer } from "./errors.ts";

/** One entry for each version of the schema: what makes it out of the one before. Never changed, only added to. */
const migrations: readonly string[] = [
  `CREATE TABLE pods (uid TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE objects (
     kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (kind, namespace, name)
   ) WITHOUT ROWID;
   CREATE TABLE tokens (
     pod TEXT NOT NULL, request TEXT NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (pod, request)
   ) WITHOUT ROWID;
   CREATE TABLE entries (
     topic TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
     PRIMARY KEY (topic, key)
   ) WITHOUT ROWID;`,
];

export const schemaVersion = migrations.length;

/** Brings a store of any earlier version, a new one among them, to this one. All or nothing. */
export function migrate(database: DatabaseSync): void {
  const found = Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (found > schemaVersion) throw new StoreNewer({ found, known: schemaVersion });
  for (let version = found; version < schemaVersion; version++) {
    database.exec(`BEGIN; ${migrations[version]} PRAGMA user_version = ${version + 1}; COMMIT;`);
  }
}
