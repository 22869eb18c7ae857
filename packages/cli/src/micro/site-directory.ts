import { existsSync } from "node:fs";
import { access, mkdir, readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describeError } from "@fjord/base";
import { InvalidMicroOption, NotASite, NotEmpty } from "../errors.ts";

/** Of the control plane: what tells a site's directory from others, and the last to go. */
const STATE = join("kubernetes", "state.db");
/** What a site makes in its directory, besides that of its control plane and of its node. */
const FILES = ["kubeconfig", "node.kubeconfig"];
/** Every new file system has it. */
const NOBODYS = "lost+found";

/**
 * Makes the directory of a site, or takes one that holds a site or nothing: whatever else is in it would be mixed with what is a
 * site's. Gives the outermost directory that was made.
 */
export async function openSiteDirectory(directory: string): Promise<string | undefined> {
  try {
    const made = await makeDirectory(directory);
    if (isSiteDirectory(directory)) return made;
    const others = (await readdir(directory)).filter((name) => name !== NOBODYS);
    if (others.length === 0 || (await isBegun(directory, others))) return made;
    throw new NotEmpty({ directory, what: some(others) });
  } catch (error) {
    const { code = "", syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    const reason = problems[code] ?? describeError(error);
    throw new InvalidMicroOption({ option: "--state-dir", value: directory, reason }, { cause: error });
  }
}

/** Removes what a site has made, and the directory where nothing else is in it; gives what is left there. */
export async function removeSiteDirectory(directory: string): Promise<readonly string[]> {
  if (!isSiteDirectory(directory)) throw new NotASite({ directory });
  for (const file of FILES) await rm(join(directory, file), { force: true });
  // A node's own reset has emptied it.
  await rmdir(join(directory, "node")).catch(() => {});
  const plane = join(directory, "kubernetes");
  // Interrupted here, it is a site's still.
  for (const name of await readdir(plane))
    if (join("kubernetes", name) !== STATE) await rm(join(plane, name), { recursive: true, force: true });
  await rm(plane, { recursive: true, force: true });
  const left = await readdir(directory);
  if (left.length > 0) return left;
  // It may be a mount, a link, or in a directory that somebody else owns: what was in it is gone.
  await rmdir(directory).catch(() => {});
  return [];
}

export function isSiteDirectory(directory: string): boolean {
  return existsSync(join(directory, STATE));
}

/** A few names, for a message. */
export function some(names: readonly string[]): string {
  const shown = names.toSorted().slice(0, 3).join(", ");
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

/** A site whose first start was cut off before it kept anything. */
async function isBegun(directory: string, names: readonly string[]): Promise<boolean> {
  if (names.some((name) => name !== "kubernetes")) return false;
  return (await readdir(join(directory, "kubernetes"))).every((name) => name === "pki");
}

/** One by one: Node's own way to make them all goes on for ever where the kernel lets nobody make any. */
async function makeDirectory(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return undefined;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await isThere(parent))) throw error;
    const made = await makeDirectory(parent);
    await mkdir(path, { mode: 0o700 });
    return made ?? path;
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

const problems: Record<string, string> = {
  EEXIST: "it is a file, and no directory",
  ENOTDIR: "a part of its path is a file, and no directory",
  ENOENT: "nothing can be made there",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "nothing can be written there",
};
