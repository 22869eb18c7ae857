import { chmod, rename } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { type Clock, describeError, type Logger } from "@fjord/base";
import { StoreDamaged, StoreInUse, StoreNewer, StoreUnusable } from "./errors.ts";
import { migrate } from "./schema.ts";

export interface DatabaseOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** SQLite's own numbers: for a file that another process has open, and for one that it cannot make sense of. */
const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

const HANDOVER_MS = 5_000;

/**
 * Opens the file, and sets it aside for a new one where it is damaged: what it holds came from the API, and a node that
 * does not start because of it would be worse off than one that starts with nothing.
 */
export async function openDatabase(options: DatabaseOptions): Promise<DatabaseSync> {
  try {
    return await openWhenFree(options);
  } catch (error) {
    if (codeOf(error) === BUSY) throw new StoreInUse({ file: options.file }, { cause: error });
    if (!isBeyondRepair(error)) throw unusable(options.file, error);
    const aside = await setAside(options);
    options.logger.error("the node's store cannot be read: it was set aside and a new one begun", {
      file: options.file,
      aside,
      error: describeError(error),
    });
  }
  return open(options.file, HANDOVER_MS).catch((error: unknown) => {
    throw unusable(options.file, error);
  });
}

/** One that is being replaced may take a moment to stop; whoever waits is told at once what for. */
async function openWhenFree({ file, logger }: DatabaseOptions): Promise<DatabaseSync> {
  try {
    return await open(file, 0);
  } catch (error) {
    if (codeOf(error) !== BUSY) throw error;
    logger.warn("another process uses the node's store: waiting for it to stop", { file, seconds: HANDOVER_MS / 1000 });
    return await open(file, HANDOVER_MS);
  }
}

async function open(file: string, busyMs: number): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file);
  try {
    // Secrets and tokens are in it; the files beside it take over its mode.
    await chmod(file, 0o600);
    // Held until this process ends, however it does: two nodes on one state directory would fight over the same pods.
    database.exec(`PRAGMA busy_timeout = ${busyMs}; PRAGMA locking_mode = EXCLUSIVE;`);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA cache_size = -512; PRAGMA secure_delete = ON;");
    database.exec("BEGIN EXCLUSIVE; COMMIT;");
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
  return [CORRUPT, NOT_A_DATABASE].includes(codeOf(error));
}

/** Extended codes carry the plain one in their lowest byte. */
function codeOf(error: unknown): number {
  return Number((error as { errcode?: unknown }).errcode) & 0xff;
}

function unusable(file: string, error: unknown) {
  return new StoreUnusable({ file, reason: describeError(error) }, { cause: error });
}
