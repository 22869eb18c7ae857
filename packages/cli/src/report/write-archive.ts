import { lstat, open, rename, rm, writeFile } from "node:fs/promises";
import { describeError } from "@fjord/base";
import { ReportNotWritten } from "../errors.ts";

/**
 * Writes a file that only its owner may read, whole or not at all: where the disk is full there is nothing, or what was there before, and
 * so it is where it is interrupted.
 */
export async function writeArchive(file: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    if (!(await mayBeReplaced(file))) return await writeFile(file, content, { signal });
    await writeBeside(file, content, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new ReportNotWritten({ file, reason: describeError(error) }, { cause: error });
  }
}

/** A device, a pipe or a link is written to, not put another file in the place of. */
async function mayBeReplaced(file: string): Promise<boolean> {
  try {
    return (await lstat(file)).isFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}

async function writeBeside(file: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  const handle = await open(part, "wx", 0o600);
  try {
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    signal.throwIfAborted();
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
