import { chmod, rename } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { type Clock, describeError, type Logger } from "@fjord/base";
import { StoreDamaged, StoreNewer, StoreUnusable } from "./errors.ts";
import { migrate } from "./schema.ts";

export interface DatabaseOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** SQLite's own numbers for a file that it cannot make sense of. */
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/**
 * Opens the file, and sets it aside for a new one where it is damaged: what it holds came from the API, and a node that
 * does not start because of it would be worse off than one that starts with nothing.
 */
export async function openDatabase(options: DatabaseOptions): Promise<DatabaseSync> {
  try {
    return await open(options.file);
  } catch (error) {
    if (!isBeyondRepair(error)) throw unusable(options.file, error);
    const aside = await setAside(options);
    options.logger.error("the node's store cannot be read: it was set aside and a new one begun", {
      file: options.file,
      aside,
      error: describeError(error),
    });
  }
  return open(options.file).catch((error: unknown) => {
    throw unusable(options.file, error);
  });
}

async function open(file: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file);
  try {
    // Secrets and tokens are in it; the files beside it take over its mode.
    await chmod(file, 0o600);
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA cache_size = -512; PRAGMA secure_delete = ON; PRAGMA busy_timeout = 2000;",
    );
    const problem = database.prepare("PRAGMA quick_check(1)").get()?.quick_check;
    if (problem !== "ok") throw new StoreDamaged({ problem });
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

async function setAside({ file, clock }: DatabaseOptions): Promise<string> {
  const aside = `${file}.unreadable-${new Date(clock.now()).toISOString().replace(/[:.]/g, "-")}`;
  for (const suffix of ["", "-wal", "-shm"]) {
    await rename(file + suffix, aside + suffix).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw unusable(file, error);
    });
  }
  return aside;
}

function isBeyondRepair(error: unknown): boolean {
  if (error instanceof StoreDamaged || error instanceof StoreNewer) return true;
  // Extended codes carry the plain one in their lowest byte.
  const number = Number((error as { errcode?: unknown }).errcode) & 0xff;
  return number === CORRUPT || number === NOT_A_DATABASE;
}

function unusable(file: string, error: unknown) {
  return new StoreUnusable({ file, reason: describeError(error) }, { cause: error });
}
