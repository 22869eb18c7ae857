import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { describeError } from "@fjord/base";
import { LogUnreadable } from "../errors.ts";

/** Of a log that has grown for months the end is what tells of a fault. */
export const LONGEST_TAIL = 16 * 1024 * 1024;

/** Refuses what cannot be read, and what may never end or never begin: pipes, devices, directories. */
export async function checkLog(file: string): Promise<void> {
  await (await openLog(file)).close();
}

/** The end of a log, and how much was left out. */
export async function readTail(
  file: string,
  longest = LONGEST_TAIL,
  signal?: AbortSignal,
): Promise<{ readonly text: string; readonly left: number }> {
  const handle = await openLog(file);
  try {
    const { size } = await handle.stat();
    const left = Math.max(0, size - longest);
    const bytes = await readFrom(handle, left, Math.min(size, longest), signal);
    const text = bytes.toString("utf8");
    // The first line of a tail is the end of one, whose beginning would have said what it is.
    return { text: left === 0 ? text : text.slice(text.indexOf("\n") + 1), left };
  } catch (cause) {
    signal?.throwIfAborted();
    throw new LogUnreadable({ file, why: describeError(cause) }, { cause });
  } finally {
    await handle.close();
  }
}

async function openLog(file: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    // A pipe that nobody writes to is opened at once, and refused below.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw new LogUnreadable({ file, why: describeError(cause) }, { cause });
  }
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  const why = stats.isDirectory() ? "it is a directory" : "it is a pipe or a device: write what it gives into a file";
  throw new LogUnreadable({ file, why });
}

const PIECE = 1024 * 1024;

async function readFrom(handle: FileHandle, from: number, length: number, signal?: AbortSignal): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(bytes, read, Math.min(PIECE, length - read), from + read);
    // It was cut off meanwhile.
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}
