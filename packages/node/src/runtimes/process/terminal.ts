import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import type { TerminalSize } from "../../stream/command-streams.ts";
import { findTool } from "./tools.ts";

/** First major number of the devices that pseudo-terminals have; each stands for 256 of them. */
const FIRST_MAJOR = 136;
const LAST_MAJOR = 143;

/** The file of a terminal by its device number, as /proc/<pid>/stat tells it; undefined for none. */
export function terminalOf(device: number): string | undefined {
  const major = (device >> 8) & 0xfff;
  const minor = (device & 0xff) | ((device >> 12) & 0xfff00);
  if (!(major >= FIRST_MAJOR && major <= LAST_MAJOR)) return undefined;
  return `/dev/pts/${(major - FIRST_MAJOR) * 256 + minor}`;
}

/** Gives a terminal the sizes that come, until they end. */
export async function followSizes(
  terminal: string | undefined,
  sizes: AsyncIterable<TerminalSize> | undefined,
  signal: AbortSignal,
): Promise<void> {
  const stty = findTool("stty");
  if (!terminal || !sizes || !stty) return;
  for await (const size of sizes) {
    if (signal.aborted || !existsSync(terminal)) return;
    const words = ["-F", terminal, "rows", String(size.rows), "cols", String(size.columns)];
    // A terminal that is gone needs no size.
    await new Promise<void>((resolve) => execFile(stty, words, { env: {} }, () => resolve()));
  }
}
