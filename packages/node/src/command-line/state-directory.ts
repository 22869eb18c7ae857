import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { InvalidNodeOption } from "./errors.ts";
import type { CommandContext } from "./run-command.ts";

/** Where a node keeps what it needs. */
export function stateDirectoryOf(
  { stateDir }: { stateDir?: string },
  { home, isRoot }: Pick<CommandContext, "home" | "isRoot">,
): string {
  // As of a variable that is not set: the present directory is hardly meant.
  if (stateDir === "") throw new InvalidNodeOption({ option: "--state-dir", value: stateDir, reason: "is empty" });
  return resolve(stateDir ?? (isRoot ? "/var/lib/fjord-node" : `${home}/.local/share/fjord/node`));
}

/** Step by step: Node's own way tries for ever below /proc, where a parent is there but nothing can be made. */
export async function makeStateDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeStateDirectory(dirname(path));
    await mkdir(path, { mode: 0o700 });
  }
}
