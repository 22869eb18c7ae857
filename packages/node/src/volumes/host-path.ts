import type { Stats } from "node:fs";
import { chmod, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { HostPathTypeMismatch } from "./errors.ts";
import { isCode } from "./file-errors.ts";

const checks: Readonly<Record<string, { words: string; holds: (found: Stats) => boolean }>> = {
  Directory: { words: "directory", holds: (found) => found.isDirectory() },
  DirectoryOrCreate: { words: "directory", holds: (found) => found.isDirectory() },
  File: { words: "file", holds: (found) => found.isFile() },
  FileOrCreate: { words: "file", holds: (found) => found.isFile() },
  Socket: { words: "socket file", holds: (found) => found.isSocket() },
  CharDevice: { words: "character device", holds: (found) => found.isCharacterDevice() },
  BlockDevice: { words: "block device", holds: (found) => found.isBlockDevice() },
};

/**
 * Makes sure that a path of the machine is what the pod expects; creates it where the type says so. Without a type it may
 * be anything, and is made a directory where it is missing, as container runtimes do.
 */
export async function ensureHostPath(path: string, type = ""): Promise<void> {
  if (type === "") {
    if ((await look(path)) === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
    return;
  }
  const check = Object.hasOwn(checks, type) ? checks[type] : undefined;
  if (check === undefined) throw new HostPathTypeMismatch({ path, type });
  let found = await look(path);
  if (found === undefined && type === "DirectoryOrCreate") {
    await mkdir(path, { recursive: true, mode: 0o755 });
    found = await look(path);
  }
  if (found === undefined && type === "FileOrCreate") {
    await createFile(path);
    found = await look(path);
  }
  if (found === undefined || !check.holds(found)) throw new HostPathTypeMismatch({ path, type: check.words });
}

async function createFile(path: string): Promise<void> {
  // Not its directory: that would be made by mistake more often than wanted, and the kubelet makes none.
  await stat(dirname(path));
  const file = await open(path, "a", 0o644);
  await file.close();
  await chmod(path, 0o644);
}

async function look(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}
