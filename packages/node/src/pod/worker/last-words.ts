import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { RuntimeContainer } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";

const LONGEST_MESSAGE = 4096;
const LONGEST_LOG_MESSAGE = 2048;
const MOST_LOG_LINES = 80;

/** What a container left in its termination message file, or, if it failed and may fall back, at the end of its log. */
export async function lastWords(container: RuntimeContainer, fallsBackToLog: boolean): Promise<string> {
  const file = container.annotations[annotations.terminationMessage];
  const message = file === undefined ? "" : await readStart(file, LONGEST_MESSAGE);
  if (message !== "" || !fallsBackToLog || container.exitCode === 0) return message;
  return endOfLog(await readEnd(container.logFile, 64 * 1024));
}

/** The last lines of a log in CRI format, without the time and stream that each begins with. */
export function endOfLog(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  const parts = lines.map((line) => /^\S+ (?:stdout|stderr) ([PF])\S* ?(.*)$/s.exec(line));
  let message = "";
  for (const part of parts) if (part !== null) message += (part[2] ?? "") + (part[1] === "F" ? "\n" : "");
  const kept = message
    .split("\n")
    .slice(-MOST_LOG_LINES - 1)
    .join("\n");
  return Buffer.from(kept)
    .subarray(-LONGEST_LOG_MESSAGE)
    .toString("utf8")
    .replace(/^\uFFFD+/, "");
}

async function readStart(file: string, length: number): Promise<string> {
  return await read(file, length, () => 0);
}

async function readEnd(file: string, length: number): Promise<string> {
  return await read(file, length, (size) => Math.max(0, size - length));
}

/** A file that is not there says nothing. */
async function read(file: string, length: number, from: (size: number) => number): Promise<string> {
  try {
    // Nobody may have another file read, or have the node wait, by putting a link or a pipe in its place.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(length, size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from(size));
    return buffer.subarray(0, bytesRead).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    return `Error on reading termination log ${file}: ${(error as Error).message}`;
  }
}
