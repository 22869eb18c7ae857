import { constants, type Dirent } from "node:fs";
import { chmod, type FileHandle, lstat, open, opendir, rename, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { mountIdOf, openDirectory, pathAt } from "./directory-handle.ts";
import { MountInTheWay } from "./errors.ts";
import { isCode } from "./file-errors.ts";

/**
 * Removes a directory with all that is in it: never through a link, never in anything mounted there, however deep it is
 * and whatever is done to it meanwhile. Directories inside others are moved up to the top one, so that two open ones are
 * enough for any depth.
 */
export async function removeTree(path: string): Promise<void> {
  let top: FileHandle;
  try {
    top = await openOwn(path);
  } catch (error) {
    if (isCode(error, "ENOENT")) return;
    if (isCode(error, "ENOTDIR") || isCode(error, "ELOOP")) return unlink(path);
    throw error;
  }
  try {
    const mount = await mountIdOf(top);
    if (mount !== (await mountOfParent(path))) throw new MountInTheWay({ path });
    await new Removal(path, top, mount).run();
  } finally {
    await top.close();
  }
  await rmdir(path);
}

async function mountOfParent(path: string): Promise<string> {
  const parent = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await mountIdOf(parent);
  } finally {
    await parent.close();
  }
}

class Removal {
  readonly #path: string;
  readonly #top: FileHandle;
  readonly #mount: string;
  #moved = 0;

  constructor(path: string, top: FileHandle, mount: string) {
    this.#path = path;
    this.#top = top;
    this.#mount = mount;
  }

  async run(): Promise<void> {
    await this.#eachEntry(this.#top, async (entry) => {
      if (entry.isDirectory()) await this.#removeDirectory(entry.name);
      else await this.#unlink(this.#top, entry.name);
    });
  }

  async #removeDirectory(name: string): Promise<void> {
    const path = pathAt(this.#top, name);
    const directory = await openOwn(path);
    try {
      if ((await mountIdOf(directory)) !== this.#mount) throw new MountInTheWay({ path: join(this.#path, name) });
      await this.#eachEntry(directory, async (entry) => {
        if (!entry.isDirectory()) await this.#unlink(directory, entry.name);
        else await this.#moveUp(directory, entry.name);
      });
    } finally {
      await directory.close();
    }
    await this.#settle(rmdir(path), name);
  }

  async #moveUp(directory: FileHandle, name: string): Promise<void> {
    const path = pathAt(directory, name);
    try {
      await rmdir(path);
    } catch (error) {
      if (!isCode(error, "ENOTEMPTY")) return this.#settle(Promise.reject(error), name);
      // Moving a directory changes its `..`, for which it must be writable to us.
      if (process.getuid?.() !== 0) await allowOwner(path);
      await this.#settle(rename(path, await this.#freeName()), name);
    }
  }

  async #freeName(): Promise<string> {
    for (;;) {
      const path = pathAt(this.#top, `.removed-${this.#moved++}`);
      try {
        await lstat(path);
      } catch (error) {
        if (isCode(error, "ENOENT")) return path;
        throw error;
      }
    }
  }

  #unlink(directory: FileHandle, name: string): Promise<void> {
    return this.#settle(unlink(pathAt(directory, name)), name);
  }

  async #settle(work: Promise<void>, name: string): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (isCode(error, "ENOENT")) return;
      throw isCode(error, "EBUSY") ? new MountInTheWay({ path: join(this.#path, name) }, { cause: error }) : error;
    }
  }

  /** Until none is left: what is removed while reading a directory may hide other entries from the reader. */
  async #eachEntry(directory: FileHandle, visit: (entry: Dirent) => Promise<void>): Promise<void> {
    for (let found = true; found; ) {
      found = false;
      for await (const entry of await opendir(`/proc/self/fd/${directory.fd}`)) {
        found = true;
        await visit(entry);
      }
    }
  }
}

/** A pod without root may have locked its own directories: whoever owns them can open them again. */
async function openOwn(path: string): Promise<FileHandle> {
  if (process.getuid?.() !== 0) await allowOwner(path);
  return openDirectory(path);
}

async function allowOwner(path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory() && (found.mode & 0o700) !== 0o700 && found.uid === process.getuid?.()) {
    await chmod(path, 0o700);
  }
}
