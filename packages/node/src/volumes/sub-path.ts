import { chmod, type FileHandle, mkdir, readlink, realpath, rmdir, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openAnything, pathAt } from "./directory-handle.ts";
import { InvalidFilePath } from "./errors.ts";
import { isCode } from "./file-errors.ts";
import type { Mounter } from "./mounter.ts";

/**
 * Opens a path inside a volume, which may follow links of the volume but not out of it. The handle stays on what was
 * checked, whatever the pod does to the path.
 */
export async function openSubPath(volume: string, subPath: string): Promise<FileHandle> {
  const { root, inside, missing } = await resolveInside(volume, subPath);
  if (missing.length > 0) throw new InvalidFilePath({ path: subPath, reason: "does not exist" });
  return descend(await openAnything(root), inside, enter);
}

/** The same, with directories made of what is missing, which get the volume's own mode. */
export async function makeSubPath(volume: string, subPath: string): Promise<FileHandle> {
  const { root, inside, missing } = await resolveInside(volume, subPath);
  const mode = (await stat(root)).mode & 0o7777;
  const found = await descend(await openAnything(root), inside, enter);
  return descend(found, missing, async (directory, name) => {
    const made = await makeDirectory(pathAt(directory, name));
    const next = await enter(directory, name);
    // The process' umask does not apply to what a pod asked for.
    if (made) await chmod(`/proc/self/fd/${next.fd}`, mode);
    return next;
  });
}

type Step = (directory: FileHandle, name: string) => Promise<FileHandle>;

/** Goes down by steps, with no more than the last directory open, and none where a step fails. */
async function descend(from: FileHandle, names: readonly string[], step: Step): Promise<FileHandle> {
  let handle = from;
  for (const name of names) {
    const above = handle;
    try {
      handle = await step(above, name);
    } finally {
      await above.close();
    }
  }
  return handle;
}

/** Where a handle leads, for runtimes that take a path; only for pods that run with no more rights than the node. */
export function pathOf(handle: FileHandle): Promise<string> {
  return readlink(`/proc/self/fd/${handle.fd}`);
}

/** Mounts what is open on a path of its own, so that nobody can exchange it before the container has it. */
export async function bindSubPath(handle: FileHandle, target: string, mounter: Mounter): Promise<void> {
  const source = await handle.stat();
  const mounted = await look(target);
  if (mounted !== undefined) {
    if (mounted.dev === source.dev && mounted.ino === source.ino) return;
    const real = join(await realpath(dirname(target)), target.slice(dirname(target).length + 1));
    for (const point of await mounter.mountsBelow(real)) await mounter.unmount(point);
    await (mounted.isDirectory() ? rmdir(target) : unlink(target));
  }
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await (source.isDirectory() ? mkdir(target, { mode: 0o750 }) : writeFile(target, "", { flag: "wx", mode: 0o640 }));
  await mounter.bind(handle, target);
}

function checkedParts(subPath: string): string[] {
  if (subPath.startsWith("/")) throw new InvalidFilePath({ path: subPath, reason: "must be relative" });
  if (subPath.includes("\0")) {
    throw new InvalidFilePath({ path: JSON.stringify(subPath), reason: "must not contain a null character" });
  }
  const parts = subPath.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new InvalidFilePath({ path: subPath, reason: "must not contain '..'" });
  return parts;
}

/** Follows links as far as the path exists: the parts below the root that it comes to, and those that are missing. */
async function resolveInside(volume: string, subPath: string) {
  const parts = checkedParts(subPath);
  const root = await realpath(volume);
  for (let count = parts.length; ; count--) {
    const path = join(root, ...parts.slice(0, count));
    let real: string;
    try {
      real = await realpath(path);
    } catch (error) {
      if (count === 0 || !isCode(error, "ENOENT")) throw error;
      continue;
    }
    const inside = partsBelow(root, real);
    if (inside === undefined) throw new InvalidFilePath({ path: subPath, reason: "leads out of the volume" });
    return { root, inside, missing: parts.slice(count) };
  }
}

function partsBelow(root: string, path: string): string[] | undefined {
  if (path === root) return [];
  const prefix = root === "/" ? root : `${root}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length).split("/") : undefined;
}

/** Goes one step down. Everything was resolved before: a link here was put there since. */
async function enter(directory: FileHandle, name: string): Promise<FileHandle> {
  const next = await openAnything(pathAt(directory, name));
  if ((await next.stat()).isSymbolicLink()) {
    await next.close();
    throw new InvalidFilePath({ path: name, reason: "was replaced by a link" });
  }
  return next;
}

async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function look(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
