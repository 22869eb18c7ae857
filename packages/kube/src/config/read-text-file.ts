import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { devNull } from "node:os";

/**
 * Reads a file that is one, or a link to one. A pipe or a device may have no end, or keep whoever opens it waiting for
 * ever, so it is opened without waiting and refused. The null device is how people say "no file".
 */
export async function readTextFile(path: string): Promise<string> {
  if (path === devNull) return "";
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = await file.stat();
    // A directory fails with the system's own words.
    if (!stat.isFile() && !stat.isDirectory()) throw new Error("it is not a regular file");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
