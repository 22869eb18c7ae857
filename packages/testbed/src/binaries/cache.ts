import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describeError } from "@fjord/base";
import { CacheUnusable } from "./errors.ts";
import type { Environment } from "./platform.ts";
import type { Recipe } from "./recipes.ts";

/** What the cache knows about one of its files. */
export interface CacheRecord {
  readonly sha256: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly version: string;
  readonly origin: "go" | "download";
}

/** `manifest.json` of a cache folder. A file that it does not mention counts as absent: it is written last. */
export interface Manifest {
  readonly format: 1;
  readonly files: Readonly<Record<string, CacheRecord>>;
}

const EMPTY: Manifest = { format: 1, files: {} };

/** FJORD_CACHE, else XDG_CACHE_HOME/fjord, else ~/.cache/fjord. */
export function cacheDirectory(env: Environment): string {
  if (env.FJORD_CACHE) return env.FJORD_CACHE;
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "fjord");
}

/** The folder of one version of one recipe: `bin/kubernetes-v1.36.3`. */
export function cacheFolder(cache: string, { name, pin }: Recipe): string {
  return join(cache, "bin", `${name}-${pin.version}`);
}

/** An unreadable manifest is as good as none: what it described is made again. */
export function readManifest(folder: string): Manifest {
  try {
    const parsed = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as Partial<Manifest> | null;
    return parsed?.format === 1 && typeof parsed.files === "object" && parsed.files !== null
      ? (parsed as Manifest)
      : EMPTY;
  } catch (error) {
    if (error instanceof SyntaxError) return EMPTY;
    if (["ENOENT", "ENOTDIR"].includes(`${(error as NodeJS.ErrnoException).code}`)) return EMPTY;
    throw new CacheUnusable({ folder, reason: describeError(error) }, { cause: error });
  }
}

/** Adds records under the folder's lock, so that readers see the old manifest or the new one, never half of it. */
export function addRecords(folder: string, records: Readonly<Record<string, CacheRecord>>): void {
  const manifest: Manifest = { format: 1, files: { ...readManifest(folder).files, ...records } };
  const temporary = join(folder, `.manifest.${process.pid}.json`);
  writeFileSync(temporary, `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  renameSync(temporary, join(folder, "manifest.json"));
}

/** `quick` trusts an unchanged size and modification time; `full` hashes. */
export type Scrutiny = "quick" | "full";

/** Why a cached file cannot be used, or undefined when it can. */
export function faultOf(folder: string, name: string, scrutiny: Scrutiny): string | undefined {
  const record = readManifest(folder).files[name];
  if (record === undefined) return "not there";
  const path = join(folder, name);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "recorded, but the file is gone";
  if (stat.size !== record.size) return `damaged (${stat.size} bytes instead of ${record.size})`;
  if (scrutiny === "quick" && Math.abs(stat.mtimeMs - record.mtimeMs) < 1) return undefined;
  if (sha256Of(path) !== record.sha256) return "damaged (its SHA-256 has changed)";
  restoreTime(path, record.mtimeMs);
  return undefined;
}

/** A restored or copied cache has new times, and only hashing showed it to be sound: next time a look shall do. */
function restoreTime(path: string, mtimeMs: number): void {
  try {
    utimesSync(path, mtimeMs / 1000, mtimeMs / 1000);
  } catch (error) {
    // Someone else's or a read-only cache serves as well, only more slowly.
    if (!["EPERM", "EACCES", "EROFS"].includes(`${(error as NodeJS.ErrnoException).code}`)) throw error;
  }
}

/** A record of the file as it is now. */
export function recordOf(path: string, version: string, origin: CacheRecord["origin"]): CacheRecord {
  const { size, mtimeMs } = statSync(path);
  return { sha256: sha256Of(path), size, mtimeMs, version, origin };
}

export function sha256Of(path: string): string {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  const file = openSync(path, "r");
  try {
    for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer)) {
      hash.update(buffer.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

/** Makes the folders that getting a recipe's files needs. */
export function prepareCache(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    mkdirSync(workshopDirectory(folder), { recursive: true });
  } catch (error) {
    throw new CacheUnusable({ folder, reason: describeError(error) }, { cause: error });
  }
}

/** Work in progress lives beside `bin`, on the same file system, so that a finished file moves into place at once. */
export function workshopDirectory(folder: string): string {
  return join(dirname(dirname(folder)), "tmp");
}
