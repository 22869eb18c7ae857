import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";

/** Runs `read`; undefined where the file is not there, or, as that of a control group, goes while it is read. */
export function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENODEV") return undefined;
    throw error;
  }
}

export function readText(path: string): string | undefined {
  return ifThere(() => readFileSync(path, "utf8"));
}

/** Written whole or not at all, whenever the process is killed. */
export function writeWhole(path: string, text: string, mode = 0o600): void {
  const fresh = `${path}.new`;
  writeFileSync(fresh, text, { mode });
  renameSync(fresh, path);
}

export function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** Creates a file that must not be there yet, whole or, on a full disk, empty; false where it is. */
export function createOnce(path: string, text: string): boolean {
  if (existsSync(path)) return false;
  const whole = `${path}.once`;
  try {
    writeFull(whole, text);
    linkSync(whole, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(whole, { force: true });
  }
}

/** A file without content needs no room; where there is none, being there has to tell enough. */
function writeFull(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    writeFileSync(path, "", { mode: 0o600 });
  }
}

/**
 * What a shell has written by one `echo`, with the time of it; undefined until the line is whole: shells can not rename
 * without starting a program.
 */
export function readLine(path: string): { line: string; time: number } | undefined {
  const text = readText(path);
  if (!text?.endsWith("\n")) return undefined;
  const time = ifThere(() => statSync(path).mtimeMs);
  return time === undefined ? undefined : { line: text.trimEnd(), time: Math.floor(time) };
}

/** Reads a file from `offset` to its end. */
export function readFrom(path: string, offset: number): Buffer {
  const descriptor = openSync(path, "r");
  try {
    const size = statSync(path).size;
    const buffer = Buffer.alloc(Math.max(0, size - offset));
    let read = 0;
    while (read < buffer.length) {
      const count = readSync(descriptor, buffer, read, buffer.length - read, offset + read);
      if (count === 0) break;
      read += count;
    }
    return buffer.subarray(0, read);
  } finally {
    closeSync(descriptor);
  }
}

export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 3 });
}
