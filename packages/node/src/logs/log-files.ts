import { constants } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LogNotAFile } from "./errors.ts";

/** Of a file that was renamed when it had become too large: `0.log.20261115-135501042`. */
const ROTATED = /^\.\d{8}-\d{6,9}$/;

/** An open file of a log. It stays readable when it is renamed or removed. */
export interface LogFile {
  readonly handle: FileHandle;
  readonly inode: bigint;
}

/** The files that belong to the log at `path`, the oldest first; the one that is written comes last, where it is there. */
export async function logFiles(path: string): Promise<string[]> {
  const names = await namesIn(dirname(path));
  const base = basename(path);
  const rotated = names.filter((name) => name.startsWith(base) && ROTATED.test(name.slice(base.length))).toSorted();
  return [...rotated, ...names.filter((name) => name === base)].map((name) => join(dirname(path), name));
}

/** Only those that were renamed. */
export async function rotatedFiles(path: string): Promise<string[]> {
  return (await logFiles(path)).filter((file) => file !== path);
}

/** The file after the one with this inode; undefined where that is the last, or nothing is known of it. */
export async function openNext(path: string, inode: bigint): Promise<LogFile | undefined> {
  // A file may be renamed between its listing and its opening.
  for (let attempt = 0; attempt < 5; attempt++) {
    const files = await logFiles(path);
    const inodes = await Promise.all(files.map(inodeOf));
    if (inodes.includes(undefined)) continue;
    // The oldest are removed first: where ours is gone, all that are left are younger.
    const next = files[inodes.indexOf(inode) + 1];
    if (next === undefined) return undefined;
    const file = await openLogFile(next);
    if (file !== undefined && inodes.includes(file.inode)) return file;
    await file?.handle.close();
  }
  return undefined;
}

/**
 * Whoever may write to the folder of a log, as a pod with a volume of the node's files may, must not have other files of
 * the machine read in its place, nor have the node wait for a pipe.
 */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export async function openLogFile(file: string): Promise<LogFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, OPEN_FLAGS);
    const about = await handle.stat({ bigint: true });
    if (!about.isFile()) throw new LogNotAFile({ file });
    return { handle, inode: about.ino };
  } catch (error) {
    await handle?.close();
    if (isMissing(error)) return undefined;
    if ((error as NodeJS.ErrnoException).code === "ELOOP") throw new LogNotAFile({ file }, { cause: error });
    throw error;
  }
}

export async function inodeOf(file: string): Promise<bigint | undefined> {
  try {
    return (await stat(file, { bigint: true })).ino;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
