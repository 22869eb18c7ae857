import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { RegistryError } from "./errors.ts";

/** A directory of this user's own among the temporary ones, the same for all programs of the user. */
export function userDirectory(name: string): string {
  return join(tmpdir(), `${name}-${userInfo().uid}`);
}

/** Makes the directory where it is not there yet, and sees to it that nobody else can write there. */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stat = lstatSync(directory);
  // Others can write to the parent. What stands in here is later removed, perhaps by root: it must be nobody else's.
  const reason = !stat.isDirectory()
    ? "it is not a directory"
    : stat.uid !== userInfo().uid
      ? "it belongs to another user"
      : (stat.mode & 0o077) !== 0
        ? "it is open to other users"
        : undefined;
  if (reason !== undefined) throw new RegistryError({ directory, reason });
}
