import { chmod, chown, type FileHandle, lchown, opendir } from "node:fs/promises";
import { openAnything, openDirectory, pathAt } from "./directory-handle.ts";
import { letsGroupIn, modeForGroup } from "./ownership.ts";

/**
 * Gives all of a volume to a group: it may read and write, and new files are its own too. With OnRootMismatch only where
 * the volume's own directory shows that this has not been done. Never through links.
 */
export async function giveToGroup(path: string, group: number, policy: "Always" | "OnRootMismatch"): Promise<void> {
  const root = await openDirectory(path);
  try {
    if (policy === "OnRootMismatch" && letsGroupIn(await root.stat(), group, "write")) return;
    await giveBelow(root, group);
    // The root comes last: it shows that all is done.
    await give(root, group);
  } finally {
    await root.close();
  }
}

async function giveBelow(directory: FileHandle, group: number): Promise<void> {
  for await (const entry of await opendir(`/proc/self/fd/${directory.fd}`)) {
    const path = pathAt(directory, entry.name);
    if (entry.isSymbolicLink()) {
      await lchown(path, -1, group);
      continue;
    }
    const handle = await (entry.isDirectory() ? openDirectory(path) : openAnything(path));
    try {
      if (entry.isDirectory()) await giveBelow(handle, group);
      await give(handle, group);
    } finally {
      await handle.close();
    }
  }
}

/** By the handle's own path, so that it is the same file whatever became of its name. */
async function give(handle: FileHandle, group: number): Promise<void> {
  const found = await handle.stat();
  if (found.isSymbolicLink()) return;
  const path = `/proc/self/fd/${handle.fd}`;

  await chown(path, -1, group);
  await chmod(path, modeForGroup(found.mode & 0o7777, found.isDirectory() ? "directory" : "file", "write"));
}
