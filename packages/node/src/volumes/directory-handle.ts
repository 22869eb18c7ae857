import { constants } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";

/** Of Linux, on all architectures that Node runs on: a handle that names a file without opening it. */
const O_PATH = 0o10000000;

/**
 * The path of an entry of an open directory. Whatever is done to the directory's own path meanwhile, this stays below
 * it: pods may replace directories of their volumes by links while we work on them.
 */
export function pathAt(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

/** Opens a directory for reading. Not through a link: then it fails with ELOOP or ENOTDIR. */
export function openDirectory(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** A handle of anything, links included, that can be looked at, passed on and bind-mounted but not read. */
export function openAnything(path: string): Promise<FileHandle> {
  return open(path, O_PATH | constants.O_NOFOLLOW);
}

/** Which mount an open file is on: differs for bind mounts of one file system too. */
export async function mountIdOf(handle: FileHandle): Promise<string> {
  const text = await readFile(`/proc/self/fdinfo/${handle.fd}`, "utf8");
  return /^mnt_id:\s*(\d+)$/m.exec(text)?.[1] ?? "";
}
