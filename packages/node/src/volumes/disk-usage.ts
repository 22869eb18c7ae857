import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { isCode } from "./file-errors.ts";

export interface DiskUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** What a directory takes on its disk; one that is not there, nothing. Links are not followed, and files of several names count once. */
export async function diskUsage(path: string, signal?: AbortSignal): Promise<DiskUsage> {
  let usedBytes = 0;
  let inodesUsed = 0;
  const linked = new Set<string>();
  const waiting = [path];
  const dev = (await unlessGone(lstat(path)))?.dev;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    signal?.throwIfAborted();
    const found = await unlessGone(lstat(next));
    if (found === undefined || found.dev !== dev) continue;
    if (found.nlink > 1 && !found.isDirectory()) {
      const id = String(found.ino);
      if (linked.has(id)) continue;
      linked.add(id);
    }
    usedBytes += found.blocks * 512;
    inodesUsed++;
    if (!found.isDirectory()) continue;
    const directory = await unlessGone(opendir(next));
    if (directory === undefined) continue;
    for await (const entry of directory) waiting.push(join(next, entry.name));
  }
  return { usedBytes, inodesUsed };
}

/** Pods write and delete while they are measured. */
async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES", "ENAMETOOLONG"].some((code) => isCode(error, code))) return undefined;
    throw error;
  }
}
